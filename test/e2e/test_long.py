"""Long jobs: what recording costs, and that memory, disk and files stay bounded."""
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import time
import unittest

from harness import PATIENCE_S, Case, Run, prog
from test_trigger import STEADY, Live
from trace import Trace

WINDOWS = "skip_first=5,wait=15,warmup=1,active=3,repeat=0"


class Long(Case):
    def loop(self, steps, pause_us=0, options=(), **settings):
        run = self.profiled([prog("loop"), str(steps), "plain", str(pause_us)], options,
                            **{"PROF_STEP": "kernel:first", **settings})
        self.assertEqual((run.status, run.out), (0, f"{steps} steps\n"), run.err)
        return run

    def report(self, run):
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        return process

    def test_recording_overhead(self):
        run = self.loop(200, 300, PROF_SCHEDULE=WINDOWS, PROF_OPENING="off")
        own = self.report(run)["self"]
        low, high = own["overhead_ci"]
        self.assertLessEqual(low, own["overhead_pct"])
        self.assertLessEqual(own["overhead_pct"], high)
        self.assertIsInstance(own["ns_per_call"], float)
        left = own["left_ci"]  # None if steps got longer or shorter by themselves
        self.assertTrue(
            own["left_pct"] is None if left is None else left[0] <= own["left_pct"] <= left[1], own)
        in_run_json = run.json["processes"][0]["self"]
        for name in ("overhead_pct", "overhead_ci", "left_pct", "left_ci"):
            self.assertEqual(in_run_json[name], own[name])
        self.assertNotIn("recording overhead",
                         [gap["what"] for gap in self.report(run)["unavailable"]])

    def test_recording_overhead_not_available(self):
        report = self.report(self.loop(30, PROF_SCHEDULE="always"))
        self.assertEqual([report["self"][name] for name in ("overhead_pct", "overhead_ci",
                                                            "ns_per_call", "left_pct", "left_ci")],
                         [None] * 5)
        (why,) = [gap["why"] for gap in report["unavailable"]
                  if gap["what"] == "recording overhead"]
        self.assertIn("28 recorded, 0 unrecorded", why)

    def test_traces_are_capped(self):
        """Of endless windows, the first get traces, then some at growing distances. None is written
        to be removed; what is left out is reported."""
        run = self.loop(200, PROF_SCHEDULE="skip_first=0,wait=1,warmup=0,active=1,repeat=0",
                        PROF_KEEP_TRACES=10)
        recorded = list(range(1, 200, 2))
        traced = [recorded[i] for i in (0, 1, 2, 3, 4, 5, 11, 23, 47, 95)]
        self.assertEqual(run.trace_steps(), traced, run.err)
        (process,) = run.json["processes"]
        self.assertEqual((process["n_traces"], process["n_traces_left_out"],
                          process["n_traces_removed"]), (10, 90, 0))
        self.assertEqual([os.path.join(run.folder, name) for name in process["traces"]],
                         run.traces_in_order())
        self.assertIn(": 90 recorded steps have no trace: the first steps have one", run.err)
        (why,) = [gap["why"] for gap in self.report(run)["unavailable"]
                  if gap["what"] == "traces of all recorded steps"]
        self.assertTrue(why.startswith("90 recorded steps have no trace"), why)
        for path in run.traces():
            Trace(path)

    def test_traces_are_capped_by_size(self):
        """The traces of many short steps never take more than a megabyte."""
        run = self.loop(700, PROF_SCHEDULE="always", PROF_KEEP_MB=1, PROF_KEEP_TRACES=100000)
        total = sum(os.stat(path).st_size for path in run.traces())
        (process,) = run.json["processes"]
        self.assertGreater(process["n_traces_left_out"], 0)
        self.assertEqual(process["n_traces_removed"], 0)
        self.assertLessEqual(total, 1 << 20)
        self.assertGreater(total, 512 << 10)

    def test_windows_leave_no_threads(self):
        """The helper threads of all windows share one stream of records, so that neither library
        nor collector keeps anything per window."""
        run = self.loop(120, 2000, PROF_SCHEDULE="skip_first=0,wait=8,warmup=1,active=1,repeat=0")
        self.assertEqual(len(run.trace_steps()), 12)
        threads = [thread.name for thread in run.journal().threads.values()]
        self.assertEqual(threads.count("profrun"), 1, threads)

    def whole(self, folder):
        """Reads all traces below a folder to their end; returns their number."""
        run = Run(0, "", "", folder)
        for path in run.traces():
            with gzip.open(path) as file:
                file.read()
        return len(run.traces())

    def test_a_collector_that_is_killed_leaves_whole_traces(self):
        rng = random.Random(5)
        n_whole = 0
        for _ in range(5):
            line, folder, env = self.launched(
                prog("steady"), PROF_STEP=STEADY,
                PROF_SCHEDULE="skip_first=0,wait=1,warmup=0,active=2,repeat=0")
            live = Live(self, line, folder, env)
            live.go(1000)
            self.eventually("a trace", lambda: Run(0, "", "", folder).traces())
            time.sleep(rng.uniform(0, 0.3))
            os.kill(self.collector(folder), signal.SIGKILL)
            live.stop()
            run = live.end()
            self.assertEqual(run.status, 0, run.err)
            self.assertIn("the collector died", run.err)
            n_whole += self.whole(folder)
            left = [name for _, _, names in os.walk(folder) for name in names
                    if name.endswith(".part")]
            self.assertEqual(left, [], "incomplete traces must be removed")
        self.assertGreater(n_whole, 6)

    def test_file_size_limit(self):
        """ulimit -f kills neither library nor collector: one line reports it, the job runs on."""
        line, folder, env = self.launched([prog("loop"), "50", "plain"], PROF_STEP="kernel:first",
                                          PROF_SCHEDULE="always", PROF_BUFFER_MB=8)
        limit = 1000
        run = subprocess.run(line, env=env, capture_output=True, text=True, timeout=PATIENCE_S,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                   (limit, resource.RLIM_INFINITY)))
        self.assertEqual((run.returncode, run.stdout), (0, "50 steps\n"), run.stderr)
        self.assertIn("ulimit -f", run.stderr)
        self.assertNotIn("died", run.stderr)


if __name__ == "__main__":
    unittest.main()
