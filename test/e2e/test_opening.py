"""The opening: everything is recorded from the first CUDA call on (PROF_OPENING)."""
import json
import os
import signal
import subprocess

from harness import SLOWER, Case, Run, prog
from journal import GPU_STATE, STEP
from trace import Trace

STEP_KERNELS = {"first_10us": 1, "spin_5us": 2, "last_15us": 1}


class Opening(Case):
    def loop(self, steps, how="plain", pause_us=0, **settings):
        run = self.profiled([prog("loop"), str(steps), how, str(pause_us)], **settings)
        self.assertEqual((run.status, run.out), (0, f"{steps} steps\n"), run.err)
        return run

    def process(self, run):
        (process,) = run.json["processes"]
        return process

    def report(self, run):
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        return process

    def kernels_per_step(self, run):
        return {k["name"]: k["per_step"] for k in self.report(run)["kernels"]}

    def assert_nothing_lost(self, run):
        losses = self.process(run)["losses"]
        for what in ("calls_without_gpu_work", "gpu_work_without_call", "dropped"):
            self.assertEqual(losses[what], 0, what)

    def events(self, run):
        return [r.event for r in run.journal().of(STEP)]

    def test_steps_that_ended_before_they_were_detected(self):
        """The schedule's steps are over long before an anchor is known."""
        run = self.loop(20)
        self.assertEqual(run.trace_steps(), [12, 13, 14], run.err)
        self.assertEqual(self.process(run)["steps"]["schedule_shift"], 0)
        self.assertEqual(self.kernels_per_step(run), STEP_KERNELS)
        for path in run.traces():
            names = [s.name for s in Trace(path).slices if s.name in STEP_KERNELS]
            self.assertEqual(len(names), 4)
        self.assert_nothing_lost(run)

    def test_fewer_steps_than_the_schedule_skips(self):
        for step in ("auto", "kernel:first", "sync"):
            with self.subTest(step):
                run = self.loop(8, PROF_STEP=step)
                self.assertEqual(len(run.trace_steps()), 3, run.err)
                self.assertEqual(self.kernels_per_step(run), STEP_KERNELS)
                self.assertEqual(self.report(run)["unavailable"] and
                                 [gap["why"] for gap in self.report(run)["unavailable"]
                                  if gap["what"] in ("steps", "gpu")], [])
                self.assert_nothing_lost(run)

    def test_no_steps_at_all(self):
        run = self.loop(1)
        self.assertEqual(self.process(run)["steps"]["count"], 0)
        self.assertEqual(run.trace_steps(), [0])
        kernels = self.kernels_per_step(run)
        # two launches before the loop
        self.assertEqual(kernels, {**STEP_KERNELS, "spin_5us": 4})
        self.assertGreater(self.report(run)["gpu"][0]["busy_pct"], 0)

    def test_a_mode_whose_steps_never_begin(self):
        run = self.loop(6, PROF_STEP="kernel:absent")
        self.assertIn("no kernel whose", run.err)
        self.assertEqual(run.trace_steps(), [0])
        self.assertEqual(self.kernels_per_step(run)["first_10us"], 6)

    def test_the_limit_of_time(self):
        """The opening ends inside the run. Afterwards nothing is recorded."""
        run = self.loop(400, "bare", 5000, PROF_OPENING="0.5s", PROF_STEP="kernel:first",
                        PROF_SCHEDULE="skip_first=100000,wait=0,warmup=0,active=3,repeat=1")
        journal = run.journal()
        (end,) = [r for r in journal.of(STEP) if r.event == "opening_ended"]
        states = [(r.state, r.ticks) for r in journal.of(GPU_STATE) if r.state in ("on", "off")]
        self.assertEqual([state for state, _ in states], ["on", "off"])
        self.assertGreaterEqual(states[1][1], end.ticks)
        begun_ns = journal.ns(journal.of(STEP)[0].ticks)
        self.assertLess(0.3e9, journal.ns(end.ticks) - begun_ns)
        self.assertLess(journal.ns(end.ticks) - begun_ns, 1.5e9)
        self.assertEqual([c for c in journal.calls()
                          if c.category == "launch" and c.begin > states[1][1]], [])
        self.assertEqual(self.process(run)["steps"]["count"], 400)
        self.assertEqual(len(run.trace_steps()), 3)
        self.assertEqual(self.kernels_per_step(run), STEP_KERNELS)
        recorded = self.process(run)["steps"]["recorded"]
        self.assertLess(recorded[-1], 300)

    def test_the_limit_of_size(self):
        run = self.loop(60000, "bare", PROF_OPENING="1MB", PROF_STEP="kernel:first",
                        PROF_SCHEDULE="skip_first=100000,wait=0,warmup=0,active=3,repeat=1")
        (end,) = [r for r in run.journal().of(STEP) if r.event == "opening_ended"]
        self.assertLess(end.number, 6000)
        self.assertGreater(end.number, 1000)

    def test_scheduled_steps_after_the_opening_that_were_detected_too_late(self):
        """The library did not record the scheduled steps, so the opening's steps are reported."""
        line, folder, env = self.launched(
            [prog("loop"), "8000", "bare"], PROF_OPENING="1MB",
            PROF_SCHEDULE="skip_first=7000,wait=0,warmup=0,active=3,repeat=1")
        child = subprocess.Popen(line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, cwd=self.base)
        collector = self.stop_collector(folder)
        try:
            self.assertEqual(child.stdout.readline(), "8000 steps\n")
        finally:
            os.kill(collector, signal.SIGCONT)
        _, err = child.communicate()
        run = Run(child.returncode, "", err, folder)
        steps = self.process(run)["steps"]
        self.assertEqual(steps["count"], 8000)
        self.assertGreater(len(steps["recorded"]), 1000, err)
        self.assertLess(steps["recorded"][-1], 6000)
        complete = self.process(run)["completeness"]
        self.assertEqual(complete["captured"], complete["launches"])
        self.assertEqual({"first_10us", "spin_5us", "last_15us"} & set(self.kernels_per_step(run)),
                         {"first_10us", "spin_5us", "last_15us"})

    def test_it_ends_when_the_schedule_is_over_and_steps_are_known_well(self):
        run = self.loop(3000, "plain", 1000, PROFSIM_LAUNCH_US="3")
        journal = run.journal()
        self.assertEqual(self.events(run).count("opening_ended"), 1)
        self.assertEqual(run.trace_steps(), [12, 13, 14])
        recorded = self.process(run)["steps"]["recorded"]
        self.assertEqual(recorded[0], 12)
        self.assertEqual(recorded, list(range(12, 12 + len(recorded))))
        self.assertGreaterEqual(len(recorded), 6)
        self.assertLess(len(recorded), 2500)
        (end,) = [r for r in journal.of(STEP) if r.event == "opening_ended"]
        late = [c for c in journal.calls() if c.begin > end.ticks and c.stack]
        self.assertLessEqual(len(late), 1, "the call that found the opening over")

    def test_cupti_is_down_before_the_first_graph(self):
        """cuptiFinalize would break the graph: its launches would fail."""
        run = self.loop(200, "graph", PROF_STEP="graph")
        self.assertEqual(run.trace_steps(), [12, 13, 14], run.err)
        journal = run.journal()
        off = [r.ticks for r in journal.of(GPU_STATE) if r.state == "off"]
        (capture,) = [c for c in journal.calls() if c.name == "cudaStreamBeginCapture"]
        self.assertLess(min(off), capture.begin)
        self.assertIn("first_10us", self.kernels_per_step(run))

    def test_steps_of_graphs_are_recorded_after_the_opening(self):
        """Only while graphs are made, the opening has no GPU times."""
        run = self.loop(4000 * SLOWER, "graph")
        self.assertEqual(len(run.trace_steps()), 3, run.err)
        self.assertEqual(self.kernels_per_step(run), STEP_KERNELS)

    def begins_after_the_capture(self, first, **settings):
        """Returns how often GPU timing begins after the program has captured its graph."""
        run = self.loop(2000, "graph", PROF_SCHEDULE=f"skip_first={first},active=3,repeat=1",
                        **settings)
        journal = run.journal()
        (capture,) = [c for c in journal.calls() if c.name == "cudaStreamBeginCapture"]
        return len([r for r in journal.of(GPU_STATE)
                    if r.state == "on" and r.ticks > capture.begin])

    def test_cupti_stays_away_if_the_window_comes_late(self):
        """CUPTI cannot be removed once there are graphs, and makes launches slower. So the opening
        must not start it if the schedule records nothing for long."""
        for step in ("graph", "auto"):
            with self.subTest(step):
                self.assertEqual(self.begins_after_the_capture(2000000, PROF_STEP=step), 0)
        self.assertGreater(self.begins_after_the_capture(200, PROF_STEP="graph"), 0)
        self.assertGreater(self.begins_after_the_capture(10, PROF_STEP="auto"), 0)

    def test_off(self):
        run = self.loop(20, PROF_OPENING="off", PROF_STEP="kernel:first",
                        PROF_SCHEDULE="skip_first=1000,wait=0,warmup=0,active=1,repeat=1")
        self.assertEqual(run.trace_steps(), [0], "the whole run, calls only")
        self.assertEqual([r for r in run.journal().of(GPU_STATE) if r.state == "on"], [])

    def test_a_killed_run(self):
        """Both processes are killed. The journal contains what the report needs."""
        run = self.loop(20)
        folder = self.folder()
        exported = self.tool("export", run.folder, "--format", "perfetto", "-o", folder)
        self.assertEqual(exported.status, 0, exported.err)
        names = sorted(name for _, _, files in os.walk(folder) for name in files)
        self.assertEqual([name.split(".")[0] for name in names], ["step-12", "step-13", "step-14"])
