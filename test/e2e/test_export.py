"""Traces and reports made from the journal afterwards equal those made during the run."""
import contextlib
import glob
import json
import os
import signal
import subprocess

from chrome import ChromeTrace
from harness import Case, prog, script
from same import report_differences, trace_differences
from trace import Trace


class Export(Case):

    def exported(self, folder):
        """Exports into a new folder; returns {trace's name: path}."""
        into = self.folder()
        made = self.tool("export", folder, "--format", "perfetto", "-o", into)
        self.assertEqual(made.status, 0, made.err)
        return {os.path.relpath(path, into): path
                for path in glob.glob(os.path.join(into, "**", "*.pftrace.gz"), recursive=True)}

    def report(self, folder):
        made = self.tool("report", folder, "--json")
        self.assertEqual(made.status, 0, made.err)
        return json.loads(made.out)

    def check_traces(self, folder, exported, complete=True):
        """The run's traces equal the exported ones; there are no others if they are complete.

        Only the causes of idle time may differ: those of a trace written during the run rest on
        the steps until then.
        """
        collected = {os.path.relpath(path, os.path.join(folder, "traces")): path
                     for path in glob.glob(os.path.join(folder, "traces", "*", "*.pftrace.gz"))}
        self.assertTrue(collected)
        names = {os.path.basename(path) for path in collected}
        exported_names = {os.path.basename(path) for path in exported}
        self.assertLessEqual(names, exported_names)
        if complete:
            self.assertEqual(names, exported_names)
        for name, path in collected.items():
            twin, = [e for n, e in exported.items()
                     if os.path.basename(n) == os.path.basename(name)]
            self.assertEqual(trace_differences(path, twin, ignored=(" idle",)), [], name)

    def check_report(self, folder):
        with open(os.path.join(folder, "report.json")) as file:
            written = json.load(file)
        found = report_differences(written, self.report(folder))
        self.assertEqual(found, [], "\n".join(found))

    def check(self, command, **settings):
        run = self.profiled(command, **settings)
        self.assertEqual(run.status, 0, run.err)
        self.check_traces(run.folder, self.exported(run.folder))
        self.check_report(run.folder)
        return run

    def test_example(self):
        self.check(script("demo.py"), PROF_HOST="off")

    def test_several_steps_in_one_file(self):
        """A file with chosen steps contains what the files of these steps contain together."""
        run = self.profiled(script("demo.py"))
        one, all_of = self.folder(), self.folder()
        for folder, options in ((one, ()), (all_of, ("--steps", "13-14"))):
            made = self.tool("export", run.folder, "--format", "perfetto,chrome,folded", *options,
                             "-o", folder)
            self.assertEqual(made.status, 0, made.err)
        names = sorted(os.path.basename(path) for path in glob.glob(f"{all_of}/*/*"))
        self.assertEqual(names, ["steps-13-14.folded", "steps-13-14.json.gz",
                                 "steps-13-14.pftrace.gz"])
        for suffix, read in ((".pftrace.gz", Trace), (".json.gz", ChromeTrace)):
            parts = [read(path) for step in (13, 14)
                     for path in glob.glob(f"{one}/*/step-{step}{suffix}")]
            self.assertEqual(len(parts), 2)
            (path,) = glob.glob(f"{all_of}/*/steps-13-14{suffix}")
            whole = read(path)
            self.assertEqual(sorted((s.time, s.name) for part in parts for s in part.slices),
                             sorted((s.time, s.name) for s in whole.slices))
            self.assertEqual(sorted((c.time, c.value) for part in parts for c in part.counters),
                             sorted((c.time, c.value) for c in whole.counters))
            self.assertEqual(len(whole.flows_out), sum(len(part.flows_out) for part in parts))
            self.assertEqual(len(whole.flows_in), len(whole.flows_out))
        ranks = [(e["args"]["sort_index"], e["tid"]) for e in whole.of("M")
                 if e["name"] == "thread_sort_index"]
        self.assertEqual(len({tid for _, tid in ranks}), len(ranks))

    def test_files_of_other_formats_are_still_listed(self):
        run = self.profiled(script("demo.py"))
        listed = run.json["processes"][0]
        for formats, nouns in (("csv", 1), ("csv,folded", 2), ("csv", 2)):
            self.assertEqual(self.tool("export", run.folder, "--format", formats).status, 0)
            with open(os.path.join(run.folder, "run.json"), encoding="utf-8") as file:
                now = json.load(file)["processes"][0]
            self.assertEqual(len(now["files"]), 1 + nouns)
            self.assertLessEqual(set(listed["traces"]), set(now["traces"]))
            self.assertEqual(len(now["traces"]), len(set(now["traces"])))
            self.assertEqual(now["n_traces"], len(now["traces"]))
            self.assertIn(f"traces     {len(listed['traces'])}\n",
                          self.tool("info", run.folder).out)

    def test_recorded_steps_without_a_trace(self):
        """The opening records more steps than the schedule asks for; each of them can be chosen."""
        run = self.profiled(script("demo.py"))
        steps = run.json["processes"][0]["steps"]
        wanted = [n for n in steps["recorded"] if n not in steps["traced"]][:4]
        self.assertEqual(len(wanted), 4)
        into = self.folder()
        made = self.tool("export", run.folder, "--steps", f"{wanted[0]}-{wanted[-1]}", "-o", into)
        self.assertEqual(made.status, 0, made.err)
        (path,) = glob.glob(f"{into}/*/*")
        names = [s.name for s in Trace(path).on("Steps")]
        self.assertEqual(names, [f"step {n}" for n in wanted])
        kernels = [s for s in Trace(path).on("Stream") if s.name.endswith("us")]
        self.assertGreater(len(kernels), 0)

    def test_chosen_steps_are_listed_with_the_former_files(self):
        run = self.profiled(script("demo.py"))
        before = run.json["processes"][0]["traces"]
        for _ in range(2):  # the second one replaces its own file
            made = self.tool("export", run.folder, "--steps", "13-14")
            self.assertEqual(made.status, 0, made.err)
            with open(os.path.join(run.folder, "run.json"), encoding="utf-8") as file:
                now = json.load(file)["processes"][0]
            self.assertEqual(len(now["traces"]), len(before) + 1)
            self.assertLess(set(before), set(now["traces"]))
            self.assertEqual([file["n"] for file in now["files"]], [len(now["traces"])])
            self.assertEqual(now["n_traces"], len(now["traces"]))

    def test_steps_that_were_not_recorded(self):
        run = self.profiled(script("demo.py"))
        made = self.tool("export", run.folder, "--steps", "100-105", "-o", self.folder())
        self.assertEqual(made.status, 1)
        self.assertIn("has no recorded step from 100 to 105", made.err)
        made = self.tool("export", run.folder, "--steps", "5-3", "-o", self.folder())
        self.assertEqual(made.status, 2)
        self.assertIn("'5-3' is not a range of steps such as 10-20", made.err)

    def test_streams_of_a_native_program(self):
        self.check(prog("copies"), PROF_SCHEDULE="always")

    def test_ctypes(self):
        self.check(script("ctypes_runtime.py"), PROF_SCHEDULE="always")

    def test_after_program_and_collector_were_killed(self):
        """The traces that were complete by then equal those exported from the journal.

        The journal may hold the next window's steps, which the collector had not written yet.
        A killed process leaves no closing reading of the clocks, so each reader's rate of ticks
        differs by about 1e-7. That may decide where a wait for a CPU is placed, so none are
        recorded here.
        """
        line, folder, env = self.launched([*script("demo.py"), "--steps", "5000"],
                                          PROF_HOST="off")
        with subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as job:
            self.eventually("three traces", lambda: len(
                glob.glob(os.path.join(folder, "traces", "*", "*.pftrace.gz"))) == 3)
            while alive := [pid for pid in processes() if belongs(pid, folder)]:
                for pid in alive:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            job.wait()
        first, second = self.exported(folder), self.exported(folder)
        self.check_traces(folder, first, complete=False)
        for name, path in first.items():
            self.assertEqual(trace_differences(path, second[name]), [], name)
        self.assertEqual(report_differences(self.report(folder), self.report(folder)), [])


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def belongs(pid, folder):
    """Returns whether the process was started for the run in this folder and has not ended."""
    proc = f"/proc/{pid}/"
    with contextlib.suppress(OSError):
        with open(proc + "environ", "rb") as environment, open(proc + "cmdline", "rb") as command:
            return folder.encode() in environment.read() + command.read()
    return False
