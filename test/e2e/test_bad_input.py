"""Bad input of every kind: one clear line says what is wrong, where, and what to do.

The application runs on.
"""
import glob
import json
import os
import random
import re
import shutil
import struct
import subprocess
import unittest

from harness import LAUNCHER, ROOT, TOOL, Case, environment, prog
from journal import DROPPED, KERNEL, STEP, Journal

LOOP_STEPS = {"PROF_STEP": "kernel:first",
              "PROF_SCHEDULE": "skip_first=2,wait=0,warmup=1,active=2,repeat=1"}


class Commands(Case):
    def test_missing_command(self):
        run = self.profiled("/no/such/program")
        self.assertEqual(run.status, 127)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertIn("/no/such/program", run.err)
        self.assertFalse(os.path.exists(run.folder))

    def test_command_that_is_not_executable(self):
        path = os.path.join(self.base, "text")
        with open(path, "w") as file:
            file.write("no program")
        run = self.profiled(path)
        self.assertEqual(run.status, 126)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)

    def test_wrong_usage_is_status_2(self):
        for arguments in (["--sim"], ["--no-such-option", "true"],
                          ["--schedule", "skip_first=x", "true"], ["--step", "kernel:(", "true"],
                          ["--step", "moon", "true"], ["--format", "tarot", "true"], ["-o"],
                          ["export", self.base, "--format", "tarot"], ["info", "--bogus"],
                          ["report", "--bogus"], ["collect", "--bogus"], ["collect", self.base],
                          ["--schedule", "flight=99999999999", "true"]):
            with self.subTest(arguments=arguments):
                run = self.tool(*arguments)
                self.assertEqual(run.status, 2, run.err)
                self.assertEqual(run.out, "")
                self.assertTrue(run.err.startswith("profrun: "), run.err)

    def test_a_mistyped_word_gets_a_suggestion(self):
        for arguments, meant in ((["reprot", "x"], "report"),
                                 (["--schedul=x", "true"], "--schedule"),
                                 (["--step", "kernal:a", "true"], "kernel:"),
                                 (["--stacks", "synch", "true"], "sync")):
            with self.subTest(arguments=arguments):
                self.assertIn(f"(did you mean {meant}?)", self.tool(*arguments).err)
        for arguments in (["no_such_program"], ["--stacks", "deep", "true"]):
            self.assertNotIn("did you mean", self.tool(*arguments).err)

    def test_a_program_may_have_the_name_of_a_command(self):
        run = self.tool("--", "diff", "/dev/null", "/dev/null")
        self.assertEqual((run.status, run.out), (0, ""), run.err)
        self.assertIn("diff never used CUDA", run.err)

    def test_each_command_has_its_help(self):
        whole = self.tool("--help")
        self.assertEqual((whole.status, whole.err), (0, ""))
        names = [line.split()[1] for line in whole.out.splitlines()
                 if line.startswith("profrun ") and line.split()[1][0] != "["]
        self.assertLessEqual({"report", "whatif", "export", "info", "trigger", "env"}, set(names))
        for name in names:
            with self.subTest(command=name):
                run, same = self.tool(name, "--help"), self.tool("help", name)
                self.assertEqual((run.status, run.err), (0, ""))
                self.assertTrue(run.out.startswith(f"profrun {name}"), run.out)
                self.assertEqual((same.status, same.out, same.err), (0, run.out, ""))
                self.assertEqual(self.tool(name, "-h").out, run.out)
                self.assertEqual(
                    [line for line in (whole.out + run.out).splitlines() if len(line) > 100], [])
        self.assertIn("--top N", self.tool("report", self.base, "--help").out)
        self.assertEqual(self.execute([TOOL, "report", "-h"], self.base, environment()).out,
                         self.tool("report", "--help").out)
        self.assertEqual(self.tool("help", "tarot").status, 2)
        self.assertIn("--help", self.tool("--", "echo", "--help").out)  # belongs to the application

    def test_help_before_anything_is_built(self):
        alone = self.folder()
        os.makedirs(alone)
        launcher = shutil.copy(LAUNCHER, alone)
        for word in ("-h", "--help", "help"):
            run = self.execute([launcher, word], alone, environment())
            self.assertEqual((run.status, run.err), (0, ""))
            self.assertTrue(run.out.startswith("usage: profrun.sh "), run.out)
            self.assertIn("run 'make' in", run.out)
        run = self.execute([launcher, "echo", "-h"], alone, environment())
        self.assertEqual((run.status, run.out), (1, ""))
        self.assertIn("nothing is built yet", run.err)

    def options(self):
        """Returns the options of all commands: rows of command, option, argument, help."""
        run = self.tool("--list-options")
        self.assertEqual((run.status, run.err), (0, ""))
        return [line.split("\t") for line in run.out.splitlines()]

    def test_each_option_is_parsed_and_in_its_help(self):
        rows = self.options()
        self.assertIn(["report", "--top", "N"], [row[:3] for row in rows])
        self.assertIn(["run", "--schedule", "S"], [row[:3] for row in rows])
        for command, option, argument, help_text in rows:
            with self.subTest(command=command, option=option):
                self.assertTrue(help_text)
                form = f"{option} {argument}" if argument else option
                self.assertIn(f" {form} ", self.tool(command, "--help").out)
                if argument:
                    run = self.tool(command, option)
                    self.assertEqual((run.status, run.out), (2, ""))
                    self.assertEqual(len(run.err.splitlines()), 1, run.err)
                    self.assertTrue(run.err.endswith(f": {form}\n"), run.err)
                if option.startswith("--"):
                    wrong = self.tool(command, option + "x")
                    self.assertEqual((wrong.status, wrong.out), (2, ""))
                    self.assertIn(f"no option '{option}x' (did you mean {option}?)", wrong.err)

    def test_documents_name_only_options_that_exist(self):
        known = {}
        for command, option, _, _ in self.options():
            known.setdefault(command, set()).add(option)
        known["run"].add("-h")
        pages = [os.path.join(ROOT, "README.md"), *glob.glob(os.path.join(ROOT, "docs", "*.md"))]
        seen = set()
        for page in pages:
            with open(page, encoding="utf-8") as file:
                lines = re.findall(r"(?:(?<![\w/.-])|(?<=/bin/))profrun ([^`\n]*)", file.read())
            for words in (line.split() for line in lines):
                command = words[0] if words and words[0] in known else "run"
                for word in words:
                    if command == "run" and not word.startswith("-"):
                        # The application's command, with its own options after it, or the value of
                        # an option.
                        break
                    if re.fullmatch(r"--[a-z-]+|-[a-z]", word):
                        seen.add((command, word))
                        self.assertIn(word, known[command],
                                      f"{os.path.basename(page)}: profrun {' '.join(words)}")
        self.assertLessEqual({("run", "--sim"), ("report", "--top"), ("whatif", "--without")}, seen)

    def test_bad_settings_are_named_once_and_the_run_goes_on(self):
        for settings, words in (
                ({"PROF_SCHEDULE": "skip_first=x"}, ["PROF_SCHEDULE", "skip_first=x"]),
                ({"PROF_STEP": "kernel:("}, ["PROF_STEP"]),
                ({"PROF_BUFFER_MB": "3"}, ["PROF_BUFFER_MB", "8"]),
                ({"PROF_SHEDULE": "off"}, ["PROF_SHEDULE", "PROF_SCHEDULE"]),
                ({"PROF_LOG": "loud"}, ["PROF_LOG", "error|warn|info|debug"]),
                ({"PROF_CUPTI": "on"}, ["PROF_CUPTI", "'on'", "auto|off|path"])):
            with self.subTest(settings=settings):
                run = self.profiled([prog("fork"), "before"], **settings)
                self.assertEqual((run.status, run.out), (0, "child good\nparent good\n"))
                said = [line for line in run.err.splitlines()
                        if line.startswith(f"profrun: {words[0]}") or f"setting {words[0]}" in line]
                self.assertEqual(len(said), 1, run.err)
                for word in words:
                    self.assertIn(word, said[0])
                alone = self.preloaded([prog("process"), "resets"], **settings)
                self.assertEqual(alone.status, 0)
                self.assertEqual(len([line for line in alone.err.splitlines() if words[0] in line]),
                                 1, alone.err)

    def test_a_bad_value_that_an_option_replaces_is_not_reported(self):
        """Neither the bad value nor the default is used."""
        run = self.profiled([prog("fork"), "before"], options=["--stacks", "none"],
                            PROF_STACKS="bogus")
        self.assertEqual((run.status, run.out), (0, "child good\nparent good\n"))
        self.assertNotIn("PROF_STACKS", run.err)
        self.assertEqual(run.json["run"]["settings"]["PROF_STACKS"], "none")


class Places(Case):
    def check_runs_on(self, folder):
        run = self.execute([LAUNCHER, "--sim", "-o", folder, prog("process"), "resets"],
                           folder, environment())
        self.assertEqual((run.status, run.out), (0, "reset good\n"), run.err)
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertIn(folder, run.err)

    def test_a_path_that_is_too_long(self):
        place = os.path.join(self.base, *(6 * ["a" * 200]))
        os.makedirs(place)
        for options, settings in ([], {}), (["-o", "run"], {}), ([], {"PROF_OUT": place}):
            line, folder, env = self.launched([prog("loop"), "5"], **settings)
            line[2:4] = options
            run = self.execute(line, folder, env, cwd=place)
            self.assertEqual((run.status, run.out), (0, "5 steps\n"))
            self.assertIn("the application runs without profiling", run.err)
            self.assertNotIn("never used", run.err)
            self.assertEqual(os.listdir(place), [])

    def test_a_setting_that_is_too_long_is_ignored(self):
        line, folder, env = self.launched([prog("loop"), "5"],
                                          PROF_OUT=os.path.join(self.base, *(6 * ["b" * 200])))
        line[2:4] = []
        os.makedirs(place := self.folder())
        run = self.execute(line, folder, env, cwd=place)
        self.assertEqual((run.status, run.out), (0, "5 steps\n"))
        self.assertIn("PROF_OUT: the value is longer than", run.err)
        self.assertIn("profrun: loop 5: exit 0", run.err)
        self.assertEqual([name[:13] for name in os.listdir(place)], ["profrun-loop-"])

    def test_folder_under_a_file(self):
        path = os.path.join(self.base, "file")
        with open(path, "w"):
            pass
        self.check_runs_on(os.path.join(path, "run"))

    def test_folder_that_is_not_writable(self):
        self.check_runs_on("/proc/run")

    def test_library_alone_and_an_unwritable_folder(self):
        run = self.preloaded([prog("process"), "resets"], PROF_OUT="/proc/run")
        self.assertEqual((run.status, run.out), (0, "reset good\n"))
        self.assertEqual(len(run.err.splitlines()), 1, run.err)
        self.assertIn("/proc/run", run.err)

    def test_folder_that_already_holds_a_run(self):
        first = self.profiled([prog("loop"), "12"], **LOOP_STEPS)
        second = self.execute([LAUNCHER, "--sim", "-o", first.folder, prog("loop"), "12"],
                              first.folder + "-2", environment(**LOOP_STEPS))
        self.assertEqual(second.trace_steps(), [3, 4], second.err)
        self.assertEqual(first.trace_steps(), [3, 4])

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system takes root")
    def test_full_disk(self):
        for mb in (2, 4, 6):
            with self.subTest(mb=mb):
                place = self.folder()
                os.mkdir(place)
                if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mb}m", "tmpfs", place],
                                  capture_output=True).returncode:
                    self.skipTest("mounting is not allowed here")
                self.addCleanup(subprocess.run, ["umount", "-l", place], capture_output=True)
                run = self.execute([LAUNCHER, "--sim", "-o", os.path.join(place, "run"),
                                    prog("process"), "closes-all"],
                                   os.path.join(place, "run"),
                                   environment(PROF_SCHEDULE="always", PROF_STEP="time:60000"))
                self.assertEqual(run.status, 0, run.err)
                self.assertIn("closed good\n", run.out)
                self.assertTrue([line for line in run.err.splitlines() if "space" in line], run.err)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system takes root")
    def test_traces_from_before_the_disk_was_full_are_reported(self):
        """They are counted although there was no room for run.json."""
        place = self.folder()
        os.mkdir(place)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place],
                          capture_output=True).returncode:
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", place], capture_output=True)
        folder = os.path.join(place, "run")
        run = self.execute([LAUNCHER, "--sim", "-o", folder, prog("loop"), "3000"], folder,
                           environment(PROF_SCHEDULE="always", PROF_STEP="kernel:first"))
        self.assertEqual((run.status, run.out), (0, "3000 steps\n"), run.err)
        self.assertGreater(len(run.traces()), 0)
        self.assertRegex(run.err, rf"Traces: \S+ \({len(run.traces())} files\)")
        self.assertRegex(run.err, r"step-\d+\.pftrace\.gz: No space left on device")

    def test_full_journal_counts_what_it_drops(self):
        run = self.preloaded([prog("loop"), "60000", "bare"], PROF_BUFFER_MB=8,
                             PROF_SCHEDULE="always", PROF_STEP="time:60000", PROF_CUPTI="off",
                             PROF_HOST="off")  # its records depend on the load
        self.assertEqual(run.status, 0)
        journal = run.journal()
        holes = sum(record.count for record in journal.of(DROPPED))
        kept = sum(record.kind != DROPPED for record in journal.records)
        self.assertGreater(journal.dropped_records, 50000)
        self.assertLessEqual(holes, journal.dropped_records)
        # The launches, and at most thirty more: setup, steps, states.
        self.assertIn(kept + journal.dropped_records - (4 * 60000 + 2), range(30))
        self.assertLess(os.stat(run.paths("journal/*")[0]).st_size, (8 << 20) + 1)
        self.assertEqual(
            len([line for line in run.err.splitlines() if "raise PROF_BUFFER_MB (now 8)" in line]),
            1, run.err)
        self.assertIn("drop", self.tool("info", run.folder).out)
        self.assertEqual(self.tool("export", run.folder, "--format", "perfetto").status, 0)

    def test_the_collector_recycles_chunks_and_nothing_is_dropped(self):
        run = self.profiled([prog("loop"), "30000", "bare"], PROF_BUFFER_MB=8,
                            PROF_STEP="kernel:first", PROF_SCHEDULE="off")
        self.assertEqual(run.status, 0)
        self.assertEqual(run.json["processes"][0]["losses"]["dropped"], 0)


class Journals(Case):
    def journal(self, steps=6):
        run = self.preloaded([prog("loop"), str(steps)], PROF_STEP="kernel:first",
                             PROF_SCHEDULE="always", PROF_BUFFER_MB=8)
        (path,) = run.paths("journal/*")
        return run.folder, path

    def tools(self, folder, path):
        for arguments in (["info", path], ["info", folder], ["report", folder],
                          ["export", folder, "--format", "perfetto", "-o", self.folder()]):
            run = self.tool(*arguments)
            self.assertIn(run.status, (0, 1), f"{arguments}: {run.err}")
            self.assertLessEqual(len(run.err.splitlines()), 4, run.err)
            if run.status:
                self.assertTrue(run.err.startswith("profrun: "), run.err)
            yield run

    def test_truncated_at_many_sizes(self):
        folder, path = self.journal()
        whole = os.stat(path).st_size
        sizes = [0, 1, 7, 8, 40, 100, 4095, 4096, 4097, 8192, whole // 16, whole // 8, whole // 2,
                 whole - 65536, whole - 1]
        for size in sorted(sizes, reverse=True):
            with self.subTest(size=size):
                os.truncate(path, size)
                for run in self.tools(folder, path):
                    pass
        self.assertEqual(run.status, 1, "an empty journal is no journal")

    def test_damaged_bytes(self):
        folder, path = self.journal()
        spare = path + ".whole"
        shutil.copyfile(path, spare)
        numbers = random.Random(1)
        for _ in range(12):
            shutil.copyfile(spare, path)
            with open(path, "r+b") as file:
                for _ in range(20):
                    file.seek(numbers.randrange(1 << 17))
                    file.write(bytes([numbers.randrange(256)]))
            for _ in self.tools(folder, path):
                pass

    def complaint(self, folder, path, *words):
        """Checks that each command that reads a journal prints the same one line and exits with 1.
        Returns the report's output."""
        out = {}
        for arguments in (["report", folder], ["report", path], ["info", folder], ["info", path],
                          ["whatif", folder, "--free", "sync"],
                          ["export", folder, "--format", "perfetto", "-o", self.folder()]):
            run = self.tool(*arguments)
            self.assertEqual(run.status, 1, f"{arguments}: {run.out}")
            said = [line for line in run.err.splitlines() if "the journal is " in line]
            self.assertEqual(len(said), 1, f"{arguments}: {run.err}")
            for word in (os.path.basename(path), *words):
                self.assertIn(word, said[0], arguments)
            out.setdefault(arguments[0], run.out)
        return out["report"]

    def test_the_missing_parts_of_a_truncated_journal_are_named(self):
        folder, path = self.journal(steps=600)
        journal = Journal(path)
        used = journal.dictionary + journal.dictionary_used
        for size, words in (
                (journal.chunks + journal.chunk_bytes,
                 [f"{journal.claims - 1} of its {journal.claims} chunks of records are missing"]),
                (used, ["its records are missing"]),
                (used - 8, ["its records and names of kernels and lines are missing"]),
                (12000, ["its records and names of kernels and lines are missing"])):
            with self.subTest(size=size):
                os.truncate(path, size)
                report = " ".join(
                    self.complaint(folder, path, f"cut short at byte {size} of", *words).split())
                self.assertIn(f"cut short at byte {size} of", report)
                self.assertNotIn("set PROF_STEP", report)

    def test_missing_unused_space_is_no_damage(self):
        """The file ends in the middle of a chunk, after its last record."""
        folder, path = self.journal()
        os.truncate(path, os.stat(path).st_size - 8)
        for run in self.tools(folder, path):
            self.assertEqual((run.status, run.err), (0, ""))

    def test_impossible_times_are_left_out(self):
        folder, path = self.journal()
        good = json.loads(self.tool("report", folder, "--json").out)["processes"][0]
        self.assertNotIn("damage", good)
        kernels = [r for r in Journal(path).of(KERNEL)]
        call = Journal(path).calls()[-1]
        with open(path, "r+b") as file:
            for record, offset, value in ((kernels[5], 8, kernels[5].begin ^ 1 << 60),
                                          (kernels[6], 16, kernels[6].end ^ 1 << 50),
                                          (kernels[7], 16, kernels[7].begin - 1),
                                          (call, 8, call.begin ^ 1 << 57)):
                file.seek(record.at + offset)
                file.write(struct.pack("<Q", value))
        report = self.complaint(folder, path,
                                "the journal is damaged: 4 records with impossible values")
        self.assertIn("the journal is damaged", report)
        bad = json.loads(self.tool("report", folder, "--json").out)["processes"][0]
        self.assertEqual(bad["self"]["losses"]["impossible_records"], 4)
        self.assertIn("the journal is damaged", bad["unavailable"][0]["why"])
        self.assertLess(bad["baseline"]["step_ms"]["max"], 2 * good["baseline"]["step_ms"]["max"])
        self.assertLess(bad["gpu"][0]["busy_ms_per_step"],
                        1.01 * good["gpu"][0]["busy_ms_per_step"])

    def test_impossible_sizes_and_numbers_are_left_out(self):
        folder, path = self.journal()
        journal = Journal(path)
        good = json.loads(self.tool("report", folder, "--json").out)["processes"][0]
        alloc = next(c for c in journal.calls() if c.category == "alloc" and not c.status)
        step = [s for s in journal.of(STEP) if s.event == "begin"][-1]
        with open(path, "r+b") as file:
            for at, value in ((alloc.at + 24, alloc.bytes | 1 << 55),
                              (step.at + 16, step.number | 1 << 40)):
                file.seek(at)
                file.write(struct.pack("<Q", value))
        self.complaint(folder, path, "2 records with impossible values")
        bad = json.loads(self.tool("report", folder, "--json").out)["processes"][0]
        self.assertLess(bad["steps"]["count"], good["steps"]["count"] + 1)
        self.assertLessEqual(bad["memory"]["device_peak_bytes"],
                             good["memory"]["device_peak_bytes"])

    def test_damage_in_names_and_records_is_counted(self):
        folder, path = self.journal()
        journal = Journal(path)
        for at in (journal.dictionary, journal.of(KERNEL)[0].at + 1):
            with self.subTest(at=at):
                with open(path, "r+b") as file:
                    file.seek(at)
                    file.write(b"\0")
                self.complaint(folder, path, " invalid place")

    def test_the_journal_of_a_killed_process_is_not_damaged(self):
        run = self.preloaded([prog("ends"), "segv"], PROF_STEP="kernel:.", PROF_SCHEDULE="always")
        (path,) = run.paths("journal/*")
        self.assertFalse(Journal(path).ended_ticks)
        for run in self.tools(run.folder, path):
            self.assertEqual((run.status, run.err), (0, ""))

    def test_files_that_are_no_journals(self):
        folder, path = self.journal()
        for content in (b"", b"PROFRUN\n", b"\x7fELF" + b"\0" * 5000, b"{}" * 3000,
                        os.urandom(20000), b"PROFRUN\n" + os.urandom(20000)):
            with self.subTest(content=content[:10]):
                with open(path, "wb") as file:
                    file.write(content)
                for run in self.tools(folder, path):
                    self.assertEqual(run.status, 1)
                    self.assertIn(os.path.basename(path), run.err)

    def test_paths_that_are_no_runs(self):
        for place in ("/no/such/folder", self.base, "/etc/passwd", "/dev/null"):
            for command in (["info", place], ["export", place, "--format", "perfetto"]):
                with self.subTest(command=command):
                    run = self.tool(*command)
                    self.assertEqual(run.status, 1, run.out)
                    self.assertEqual(len(run.err.splitlines()), 1, run.err)
                    self.assertIn(place, run.err)

    def test_one_bad_journal_does_not_hide_the_good_one(self):
        folder, path = self.journal()
        with open(os.path.join(os.path.dirname(path), "1.journal"), "wb") as file:
            file.write(b"no journal")
        run = self.tool("export", folder, "--format", "perfetto")
        self.assertEqual(run.status, 1)
        self.assertIn("1.journal", run.err)
        self.assertEqual(len(os.listdir(os.path.join(folder, "traces"))), 1)


if __name__ == "__main__":
    unittest.main()
