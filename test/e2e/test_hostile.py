"""Hostile surroundings and names.

The launcher runs the application wherever the application itself could run. With too few
descriptors or processes, without /proc, and with a path that is too long, the run is at worst not
profiled, which one line on stderr says. What is printed contains no terminal escapes.
"""
import fcntl
import json
import os
import pwd
import re
import resource
import shutil
import signal
import stat
import subprocess
import unittest

from harness import (
    EVERYTHING,
    LAUNCHER,
    LIBRARY,
    PATIENCE_S,
    TOOL,
    Case,
    Run,
    applications,
    environment,
    process_name,
    prog,
    read_proc,
    unsanitized,
)
from journal import GPU_STATE, STEP

UNPROFILED = "the application runs without profiling"


def limited(what, number, hard=None):
    """Returns what a child process does to limit itself. It may raise the limit up to `hard`."""
    return lambda: resource.setrlimit(what, (number, hard or number))


def handles(pid, number):
    """Returns whether the process has a handler for the signal."""
    (mask,) = re.findall(rb"SigCgt:\s*(\w+)", read_proc(pid, "status"))
    return int(mask, 16) >> (number - 1) & 1


@unsanitized("it needs descriptors and processes of its own")
class Resources(Case):
    def run_limited(self, program, limit, command, **settings):
        """Runs PROGRAM without a hang. Returns its status, output and lines on stderr."""
        folder = self.folder()
        line = [*program, "--sim", "-o", folder, "--schedule", "always", "--", *command]
        child = subprocess.run(line, env=environment(**settings), capture_output=True, text=True,
                               cwd=self.base, timeout=PATIENCE_S, preexec_fn=limit, check=False)
        return child.returncode, child.stdout, child.stderr.splitlines(), folder

    def check_runs(self, status, out, lines, folder):
        self.assertEqual((status, out), (0, "300 steps\n"), lines)
        if any(UNPROFILED in line for line in lines):
            self.assertEqual(len(lines), 1, lines)
            self.assertFalse(os.path.exists(folder), "an unprofiled run leaves no folder")
            return False
        return True

    def test_few_descriptors(self):
        """The program profrun needs one descriptor more than the application. The launcher is a
        script: dash, the shell of Debian, needs eleven to read one."""
        profiled = {}
        for n in range(5, 15):
            with self.subTest(descriptors=n):
                run = self.run_limited([TOOL, "run"], limited(resource.RLIMIT_NOFILE, n),
                                       [prog("loop"), "300"])
                profiled[n] = self.check_runs(*run)
        self.assertFalse(profiled[5], "the test's lowest limit is too high to test anything")
        self.assertTrue(profiled[14])
        self.assertTrue(self.check_runs(*self.run_limited(
            [LAUNCHER], limited(resource.RLIMIT_NOFILE, 14), [prog("loop"), "300"])))

    def test_few_descriptors_at_first(self):
        """The collector takes as many descriptors as it may. Those of its pipes stay its own."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for n in range(5, 15):
            with self.subTest(descriptors=n):
                run = self.run_limited([TOOL, "run"], limited(resource.RLIMIT_NOFILE, n, hard),
                                       [prog("loop"), "300"])
                if self.check_runs(*run):
                    self.assertEqual(len(Run(*run[:2], "", run[3]).traces()), 300, run[2])

    def test_closed_standard_files(self):
        """The pipes of launcher and collector may then have the numbers 0, 1 and 2."""
        code = (f"{TOOL} run --sim -o {self.base}/closed --schedule always -- {prog('loop')} 300 "
                "<&- >&- 2>&-")
        run = self.execute(["sh", "-c", code], f"{self.base}/closed", environment())
        self.assertEqual(run.status, 0)
        self.assertEqual(len(run.traces()), 300)

    @unittest.skipUnless(os.geteuid() == 0, "another user's id takes root")
    def test_no_further_process(self):
        nobody = pwd.getpwnam("nobody")
        os.chmod(self.base, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)

        def limit():
            os.setgid(nobody.pw_gid)
            os.setuid(nobody.pw_uid)
            resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

        status, out, lines, folder = self.run_limited([TOOL, "run"], limit, ["sh", "-c", "echo hi"])
        self.assertEqual((status, out), (0, "hi\n"), lines)
        self.assertIn(UNPROFILED, lines[-1])
        self.assertFalse(os.path.exists(folder))


@unsanitized("it reads /proc/self/maps")
class NoProc(Case):
    HIDDEN = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
              'mount -t tmpfs none /proc && exec "$@"', "sh"]

    def test_the_application_runs(self):
        if subprocess.run([*self.HIDDEN, "true"], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("/proc cannot be hidden here")
        line, folder, env = self.launched([prog("loop"), "300"], **EVERYTHING)
        run = self.execute([*self.HIDDEN, *line], folder, env)
        self.assertEqual((run.status, run.out), (0, "300 steps\n"), run.err)
        self.assertEqual(len(run.traces()), 300, run.err)


class Paths(Case):
    def test_a_folder_of_any_length(self):
        for length in (1000, 1016, 1017, 1024, 4095, 4096, 10000):
            with self.subTest(length=length):
                folder = self.base + ("/" + 99 * "x") * ((length - len(self.base)) // 100)
                folder += "y" * (length - len(folder))
                run = self.execute([LAUNCHER, "--sim", "-o", folder, prog("loop"), "300"], folder,
                                   environment(**EVERYTHING))
                self.assertEqual((run.status, run.out), (0, "300 steps\n"), run.err)
                if length <= 1017:
                    self.assertEqual(len(run.traces()), 300)
                else:
                    self.assertEqual(len(run.err.splitlines()), 1, run.err)
                    self.assertIn("has more than 1017 bytes; " + UNPROFILED, run.err)
                shutil.rmtree(self.base + "/" + 99 * "x", ignore_errors=True)


class Names(Case):
    """Terminal escapes and characters that change the direction of writing, in every name that can
    come from outside. The files keep them, escaped."""
    EVIL = "\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \u2066x\u2069 \u009b31m line\nprofrun: fine"
    DECEPTIVE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f"
                           "\u2028-\u202e\u2060-\u206f\ufeff]")

    def check_clean(self, text):
        self.assertEqual(self.DECEPTIVE.findall(text), [], text)
        self.assertNotIn("\nprofrun: fine", text)

    def check_clean_run(self, run):
        self.check_clean(run.err)
        self.check_clean(run.out)
        for name in "run.json", "report.json", "report.txt", "report.html":
            with open(os.path.join(run.folder, name), encoding="utf-8") as file:
                self.check_clean(file.read())

    def test_names_of_a_run(self):
        parent = self.folder()
        folder = os.path.join(parent, self.EVIL.replace("/", "_"))
        program = os.path.join(parent, "loop" + self.EVIL.split("\n", maxsplit=1)[0])
        os.mkdir(parent)
        os.symlink(prog("loop"), program)
        run = self.execute([LAUNCHER, "--sim", "-o", folder, program, "300", self.EVIL], folder,
                           environment(**EVERYTHING, RANK=self.EVIL))
        self.assertEqual(run.status, 0, run.err)
        self.check_clean_run(run)
        self.assertEqual(run.json["run"]["command"], [program, "300", self.EVIL])
        self.assertEqual(len(run.traces()), 300)
        for words in (["info"], ["report"], ["report", "--json"], ["whatif", "--free", "sync"],
                      ["whatif", "--free", "sync", "--json"], ["trigger"],
                      ["export", "--format", "perfetto"]):
            with self.subTest(words=words):
                tool = self.tool(words[0], folder, *words[1:])
                self.assertIn(tool.status, (0, 1), tool.err)
                self.assertTrue(tool.out + tool.err)
                self.check_clean(tool.out + tool.err)
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            self.assertIn(self.EVIL, json.load(file)["run"]["command"])

    def test_bad_words_and_settings(self):
        evil = self.EVIL
        for words in ([evil], ["--" + evil], ["info", evil], ["info", "--" + evil],
                      ["report", evil], ["collect", evil], ["trigger", evil],
                      ["export", evil, "--format", evil], ["--schedule", evil, "true"],
                      ["whatif", evil, "--kernel", evil], ["help", evil]):
            with self.subTest(words=words):
                tool = self.tool(*words)
                self.assertNotEqual(tool.status, 0)
                self.check_clean(tool.out + tool.err)
        settings = {f"PROF_{name}": self.EVIL for name in (
            "SCHEDULE", "STEP", "OPENING", "TRIGGER", "FORMAT", "RANKS", "CUPTI", "HOST", "LOG",
            "BUFFER_MB", "SCHEDUEL", "S" + self.EVIL)}
        for run in (self.profiled([prog("loop"), "30"], **settings),
                    self.preloaded([prog("loop"), "30"], **settings)):
            self.assertEqual(run.status, 0)
            self.assertIn("PROF_SCHEDULE", run.err)
            self.check_clean(run.err)


class Planted(Case):
    """Files that another user has put where the run is going to write."""

    def check_refused(self, folder):
        run = self.execute([LAUNCHER, "--sim", "-o", folder, prog("loop"), "300"], folder,
                           environment(**EVERYTHING))
        self.assertEqual((run.status, run.out), (0, "300 steps\n"), run.err)
        self.assertEqual(run.err, f"profrun: other users can write to {folder}; {UNPROFILED} "
                                  "(choose another folder with -o DIR or PROF_OUT)\n")
        self.assertEqual(os.listdir(folder), [])

    def test_links_are_not_followed(self):
        folder, victim = self.folder(), os.path.join(self.base, "victim")
        os.mkdir(folder)
        with open(victim, "w", encoding="ascii") as file:
            file.write("precious")
        with open("/proc/loadavg", encoding="ascii") as file:
            latest = int(file.read().split()[-1])
        for pid in range(latest, latest + 3000):
            for name in "run.json", "report.json", ".profrun":
                os.symlink(victim, os.path.join(folder, f"{name}.{pid}.part"))
        run = self.execute([TOOL, "run", "--sim", "-o", folder, "--", prog("loop"), "300"], folder,
                           environment(**EVERYTHING))
        self.assertEqual((run.status, run.out), (0, "300 steps\n"), run.err)
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")
        self.assertEqual(len(run.traces()), 300)
        self.assertFalse(os.path.islink(os.path.join(folder, "run.json")))
        self.assertTrue(any(f"run.json.{pid}.part" not in os.listdir(folder)
                            for pid in range(latest, latest + 3000)), "no link was in the way")

    def test_a_folder_that_others_can_write_to(self):
        for mode in 0o777, 0o1777, 0o757:
            os.mkdir(folder := self.folder())
            os.chmod(folder, mode)
            self.check_refused(folder)

    @unittest.skipUnless(os.geteuid() == 0, "another user's folder takes root")
    def test_a_folder_of_another_user(self):
        os.mkdir(folder := self.folder())
        os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        self.check_refused(folder)

    def test_without_a_umask(self):
        """A folder that the run makes is not writable for others."""
        line, folder, env = self.launched([prog("loop"), "300"], **EVERYTHING)
        code = 'umask 0; exec "$@"'
        run = self.execute(["sh", "-c", code, "sh", *line], folder, env)
        self.assertEqual(len(run.traces()), 300, run.err)
        for place, folders, files in os.walk(folder):
            for name in [".", *folders, *files]:
                mode = os.stat(os.path.join(place, name)).st_mode
                self.assertFalse(mode & stat.S_IWOTH, os.path.join(place, name))


class LeftOver(Case):
    """Files that killed processes have left unfinished."""

    def test_the_next_command_removes_them(self):
        folder = self.profiled([prog("loop"), "300"], **EVERYTHING).folder
        trace = os.path.join(folder, "traces", "1", "step-3.pftrace.gz")
        os.mkdir(os.path.dirname(trace))
        dead, reused, alive = (f"{trace}.{pid}.part" for pid in (4194303, os.getpid(), 1))
        old, new = (os.path.join(folder, "journal", f"4194303.{n}.journal.new") for n in (1, 2))
        others = [os.path.join(folder, name) for name in ("mine.part", "a.part.1", "b.x1.part")]
        for words in ["info"], ["report"], ["export"], ["whatif", "--free", "sync"], ["trigger"], \
                ["collect"]:
            for path in dead, reused, alive, old, new, *others:
                with open(path, "w", encoding="ascii"):
                    pass
            os.utime(old, (1, 1))
            with self.subTest(words=words), open(alive, encoding="ascii") as locked:
                fcntl.flock(locked, fcntl.LOCK_EX)
                self.tool(words[0], folder, *words[1:])
                self.assertEqual([path for path in (dead, reused, alive, old, new, *others)
                                  if not os.path.exists(path)], [dead, reused, old])


    def test_a_run_that_was_killed_before_it_had_a_journal(self):
        folder = self.folder()
        os.makedirs(os.path.join(folder, "journal"))
        left = os.path.join(folder, "journal", "4194303.1.journal.new")
        for words in ["info"], ["report"], ["export"], ["whatif", "--free", "sync"], ["trigger"]:
            with self.subTest(words=words):
                with open(left, "w", encoding="ascii"):
                    pass
                os.utime(left, (1, 1))
                tool = self.tool(words[0], folder, *words[1:])
                self.assertNotEqual(tool.status, 0)
                self.assertIn("contains no journals", tool.err)
                self.assertFalse(os.path.exists(left))


class Cut(Case):
    """A journal that is full: what was made is recorded or counted as dropped."""
    STEPS = 100000

    def record(self, steps):
        """Returns the run, and how many calls, kernels and step boundaries it recorded."""
        run = self.preloaded([prog("loop"), str(steps), "bare"], PROF_BUFFER_MB=8,
                             PROF_SCHEDULE="always", PROF_STEP="kernel:first")
        journal = run.journal()
        return run, (len(list(journal.calls())), sum(r.work == "kernel" for r in journal.gpu()),
                     sum(record.kind == STEP for record in journal.records))

    def test_nothing_is_lost_uncounted(self):
        few = 300
        _, whole = self.record(few)
        run, recorded = self.record(self.STEPS)
        info = self.tool("info", run.folder).out
        (dropped,) = re.findall(r"dropped +\d+ records \((\d+) calls, (\d+) GPU records, "
                                r"(\d+) step", info)
        more = self.STEPS - few
        for what, n, lost, small, each in zip(("calls", "kernels", "steps"), recorded, dropped,
                                              whole, (4, 4, 1)):
            self.assertEqual(n + int(lost), small + each * more, what)
        self.assertIn("\ncut: the journal was full and dropped ",
                      self.tool("report", run.folder).out)


    def test_dropped_gpu_work_is_named(self):
        """What the library dropped lies between the GPU work that it recorded."""
        run = self.profiled([prog("loop"), str(self.STEPS), "bare"], PROF_BUFFER_MB=8,
                            PROF_SCHEDULE="always", PROF_STEP="kernel:first")
        marks = [r for r in run.journal().records
                 if r.kind == GPU_STATE and r.state == "dropped"]
        self.assertTrue(marks)
        for mark in marks:
            self.assertGreaterEqual((mark.detail >> 32) - mark.first_id + 1, mark.detail % 2**32)


def threads(pid):
    """Returns the ticks of CPU time and the nice value of each thread, by whether it is the main
    thread; empty if the process has ended."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task") if os.path.exists(f"/proc/{pid}/task") else ():
        fields = read_proc(pid, f"task/{tid}/stat").rpartition(b")")[2].split()
        if fields and fields[0] not in b"ZX":
            found[int(tid) == pid] = int(fields[11]) + int(fields[12]), int(fields[16])
    return found


@unittest.skipUnless(os.nice(0) < 19, "no priority is lower than the lowest")
class Priority(Case):
    """The collector has low priority while the application needs the processor, and else not."""

    def catch_up(self, steps, then, **settings):
        """Stops the collector until the application has made its steps and does `then`. Returns how
        many ticks the collector's main thread and its other one, of low priority, have taken when
        all has been read."""
        line, folder, env = self.launched(["sh", "-c", f"{prog('loop')} {steps} bare; {then}"],
                                          **EVERYTHING, **settings)
        child = subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 cwd=self.base)
        collector = self.collector(folder)
        nices = {True: os.nice(0), False: min(os.nice(0) + 10, 19)}
        self.eventually("it has a thread of low priority", lambda: nices == {
            is_main: nice for is_main, (_, nice) in threads(collector).items()})
        os.kill(collector, signal.SIGSTOP)
        before = threads(collector)
        try:
            self.assertEqual(child.stdout.readline(), f"{steps} steps\n")
            (application,) = applications(folder)
            if then == "true":
                self.eventually("the application ends", lambda: not process_name(application))
        finally:
            os.kill(collector, signal.SIGCONT)
        ticks, run = {True: 0, False: 0}, Run(0, "", "", folder)

        def has_read():
            now = threads(collector)
            for is_main, (n, _) in now.items():
                ticks[is_main] = n - before[is_main][0]
            return not now or (os.path.exists(os.path.join(folder, "run.json")) and
                               [p["steps"]["count"] for p in run.json["processes"]] == [steps])
        self.eventually("all is read", has_read)
        child.communicate("\n")
        return ticks[True], ticks[False]

    def test_it_gives_way_while_the_application_runs(self):
        normal, low = self.catch_up(30000, "read x")
        self.assertLess(normal, low / 4)

    def test_it_does_not_when_the_application_has_ended(self):
        normal, low = self.catch_up(30000, "true")
        self.assertLess(low, normal / 4)

    def test_it_does_not_when_the_journal_is_about_to_be_full(self):
        normal, low = self.catch_up(30000, "read x", PROF_BUFFER_MB=32,
                                    PROF_STEP="kernel:first")
        self.assertLess(low, normal)


class Collector(Case):
    def test_a_folder_that_is_no_run(self):
        os.mkdir(folder := self.folder())
        run = self.execute([TOOL, "collect", folder], folder, environment())
        self.assertEqual(run.status, 2)
        self.assertEqual(run.err, f"profrun: collect: {folder} is not the folder of a run: no "
                                  "journal is in it\n")

    def test_sigterm_ends_it_with_what_has_been_read(self):
        line, folder, env = self.launched([prog("loop"), "150000", "bare"], **EVERYTHING)
        child = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, start_new_session=True, cwd=self.base)
        collector = self.collector(folder)
        self.eventually("the collector handles SIGTERM", lambda: handles(collector, signal.SIGTERM))
        os.kill(collector, signal.SIGSTOP)
        try:
            self.assertEqual(child.stdout.readline(), "150000 steps\n")
            application = applications(folder)[0]
            self.eventually("the application ends", lambda: process_name(application) is None)
            os.kill(collector, signal.SIGTERM)
        finally:
            os.kill(collector, signal.SIGCONT)
        _, err = child.communicate(timeout=PATIENCE_S)
        self.assertEqual(child.returncode, 0, "must be the application's own status")
        self.assertIn("stopped by SIGTERM", err)
        self.eventually("the collector ends", lambda: process_name(collector) is None)
        run = Run(child.returncode, "", err, folder)
        self.assertIn("stopped by SIGTERM before all records were read", run.json["messages"][0])
        self.assertLessEqual(run.json["processes"][0]["steps"]["count"], 150000)
        # The journal has them all. The last one may lack its end.
        self.assertRegex(self.tool("report", folder).out, "\n(149,999|150,000) steps")

    def test_the_kernel_would_end_it_first_if_memory_ran_out(self):
        line, folder, env = self.launched([prog("loop"), "100000000", "plain", "1000"])
        child = subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True, cwd=self.base)
        collector = self.collector(folder)
        self.eventually("the collector gives way",
                        lambda: int(read_proc(collector, "oom_score_adj") or 0) == 1000)
        application, = self.eventually("the application has a journal",
                                       lambda: applications(folder))
        self.assertEqual(read_proc(application, "oom_score_adj"),
                         read_proc("self", "oom_score_adj"))
        os.kill(application, signal.SIGKILL)
        child.communicate()

    def alone(self, folder):
        """Returns a collector whose launcher was killed before it named the application."""
        ours, theirs = os.pipe()
        child = subprocess.Popen([TOOL, "collect", "--control", str(ours), folder],
                                 env=environment(), pass_fds=[ours])
        os.close(ours)
        os.close(theirs)
        return child

    def test_a_launcher_that_was_killed_before_it_named_the_application(self):
        os.makedirs(os.path.join(folder := self.folder(), "journal"))
        self.assertEqual(self.alone(folder).wait(PATIENCE_S), 0)
        line = ["sh", "-c", f"sleep 4; {prog('loop')} 300"]
        program = subprocess.Popen(line, env=environment(
            LD_PRELOAD=LIBRARY, PROF_OUT=folder, PROF_LAUNCHED=1, **EVERYTHING),
            stdout=subprocess.DEVNULL)
        collector = self.alone(folder)
        self.assertEqual(program.wait(PATIENCE_S), 0)
        self.assertEqual(collector.wait(PATIENCE_S), 0)
        (process,) = Run(0, "", "", folder).json["processes"]
        self.assertEqual(process["steps"]["count"], 300)

    def test_sigterm_changes_nothing_before_the_application_ends(self):
        code = f"{prog('loop')} 300; read x; {prog('loop')} 300; read x"
        line, folder, env = self.launched(["sh", "-c", code], **EVERYTHING)
        child = subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True,
                                 cwd=self.base)
        run = Run(0, "", "", folder)
        self.assertEqual(child.stdout.readline(), "300 steps\n")
        os.kill(self.collector(folder), signal.SIGTERM)
        child.stdin.write("\n")
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), "300 steps\n")
        self.eventually("all steps are read", lambda: [300, 300] == [
            p["steps"]["count"] for p in run.json["processes"]])
        _, err = child.communicate("\n", timeout=PATIENCE_S)
        self.assertNotIn("stopped by SIGTERM", err)

    def test_sigterm_before_the_launcher_has_named_the_application(self):
        """The collector of a busy machine may start to read after the application."""
        folder = self.preloaded([prog("loop"), "300"], **EVERYTHING).folder
        reads, writes = os.pipe()
        with subprocess.Popen([TOOL, "collect", "--control", str(reads), folder], pass_fds=[reads],
                              env=environment(), stderr=subprocess.PIPE) as child:
            os.close(reads)
            self.eventually("the collector handles SIGTERM",
                            lambda: handles(child.pid, signal.SIGTERM))
            child.terminate()
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(timeout=3)  # it would end within 2 s
            os.close(writes)
            self.assertEqual(child.wait(timeout=PATIENCE_S), 0, child.stderr.read())

    def test_the_folder_of_a_run(self):
        first = self.preloaded([prog("loop"), "300"], **EVERYTHING)
        run = self.execute([TOOL, "collect", first.folder], first.folder, environment())
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(len(run.traces()), 300)


if __name__ == "__main__":
    unittest.main()
