"""Which steps get a trace, by each detector and kind of schedule, and what these traces contain."""
import re
import unittest

from harness import NO_OPENING, PACED, Case, prog, script
from journal import STEP
from trace import Trace

STEP_KERNELS = ["first_10us", "spin_5us", "spin_5us", "last_15us"]
TWICE = "skip_first=2,wait=1,warmup=1,active=2,repeat=2"  # 4, 5 and 8, 9
TWICE_STEPS = [4, 5, 8, 9]


class Steps(Case):
    SETTINGS = NO_OPENING

    def loop(self, how, steps, pause_us=0, options=(), **settings):
        run = self.profiled([prog("loop"), str(steps), how, str(pause_us)], options, **settings)
        self.assertEqual((run.status, run.out), (0, f"{steps} steps\n"), run.err)
        return run

    def facts(self, run):
        (process,) = run.json["processes"]
        return process

    def check_steps(self, run, numbers, kernels=STEP_KERNELS):
        """Checks that each of these steps has a trace with one iteration's work, all paired."""
        self.assertEqual(run.trace_steps(), numbers, run.err)
        self.assertEqual(self.facts(run)["steps"]["recorded"], numbers)
        for path, number in zip(run.traces_in_order(), numbers):
            trace = Trace(path)
            with self.subTest(step=number):
                self.assertEqual(
                    [s.name for s in trace.slices if trace.tracks[s.track].name == "Steps"],
                    [f"step {number}"])
                work = sorted((s for s in trace.slices
                               if trace.tracks[s.track].name.startswith("GPU 0 Stream")),
                              key=lambda s: s.time)
                self.assertEqual([s.name for s in work if s.name.endswith("us")], kernels)
                self.assertEqual(len(trace.flows_in), len(work))
                self.assertEqual({flow for flow, _ in trace.flows_in},
                                 {flow for flow, _ in trace.flows_out})
        self.assertEqual(self.facts(run)["losses"]["calls_without_gpu_work"], 0)
        self.assertEqual(self.facts(run)["losses"]["gpu_work_without_call"], 0)

    def iteration_of(self, run, number):
        """Returns the number of the iteration whose first kernel is in step `number`: how often
        that kernel was launched before the trace begins."""
        journal = run.journal()
        begins = [journal.ns(c.begin) for c in journal.calls()
                  if c.category == "launch" and journal.launch_name(c) == "first_10us"]
        trace = Trace(run.traces_in_order()[run.trace_steps().index(number)])
        (step,) = [s for s in trace.slices if s.name == f"step {number}"]
        return sum(begin < step.time - 1000 for begin in begins)

    def test_kernel(self):
        run = self.loop("plain", 14, PROF_STEP="kernel:first", PROF_SCHEDULE=TWICE)
        self.check_steps(run, TWICE_STEPS)
        self.assertEqual(self.facts(run)["steps"]["count"], 14)

    def test_kernel_by_options(self):
        run = self.loop("plain", 14, options=["--step", "kernel:^first", "--schedule", TWICE],
                        PROF_STEP="sync")
        self.check_steps(run, TWICE_STEPS)

    def test_graph(self):
        run = self.loop("graph", 14, PROF_STEP="graph", PROF_SCHEDULE=TWICE)
        self.check_steps(run, TWICE_STEPS)
        self.assertEqual(self.facts(run)["steps"]["count"], 14)

    def test_sync(self):
        run = self.loop("plain", 14, PROF_STEP="sync", PROF_SCHEDULE=TWICE)
        self.check_steps(run, TWICE_STEPS)
        self.assertEqual(self.facts(run)["steps"]["count"], 14)

    def test_time(self):
        run = self.loop("plain", 60, 1000, PROF_STEP="time:10",
                        PROF_SCHEDULE="skip_first=1,wait=0,warmup=1,active=2,repeat=1")
        self.assertEqual(run.trace_steps(), [2, 3])
        for path in run.traces():
            trace = Trace(path)
            (step,) = [s for s in trace.slices if s.name.startswith("step ")]
            # A slice ends with the first call after it, whenever that comes.
            self.assertLess(9e6, step.end - step.time)

    def test_api(self):
        run = self.loop("api", 6, PROF_STEP="api")
        self.check_steps(run, [0, 1, 2, 3, 4, 5])

    def test_api_with_a_schedule(self):
        self.check_steps(self.loop("api", 14, PROF_STEP="api", PROF_SCHEDULE=TWICE), TWICE_STEPS)

    def test_profrun_step(self):
        run = self.loop("mark", 6, PROF_STEP="api")
        self.assertEqual(run.trace_steps(), [0, 1, 2, 3, 4, 5])

    def test_auto(self):
        run = self.loop("plain", 150, 500, **PACED)
        steps = self.facts(run)["steps"]
        self.assertEqual(steps["detector"], "auto")
        self.assertEqual(len(run.trace_steps()), 3, run.err)
        first = run.trace_steps()[0]
        self.check_steps(run, [first, first + 1, first + 2])
        self.assertEqual(first, 12 + steps["schedule_shift"])
        self.assertIn(steps["count"], (150, 151))
        self.assertEqual(self.iteration_of(run, first), first,
                         "the step's number must be the iteration's")

    def launches_in_waits(self):
        """Returns how many launches the journal has in each of the steps before a window."""
        run = self.loop(
            "plain",
            300,
            300,
            PROF_SCHEDULE="skip_first=200,wait=1,warmup=1,active=1,repeat=10",
            **PACED,
        )
        journal = run.journal()
        begins = sorted((r for r in journal.of(STEP) if r.event == "begin"), key=lambda r: r.ticks)
        waits = [(a.ticks, b.ticks) for a, b in zip(begins, begins[1:])
                 if not a.action and b.action]
        launches = [c.begin for c in journal.calls() if c.category == "launch"]
        return [sum(begin < t < end for t in launches) for begin, end in waits]

    def test_nothing_is_journaled_between_windows(self):
        """Steps before a window are only counted: the journal has none of their launches.

        On a busy machine, steps may take so long that profrun looks for other steps, which journals
        launches (preload/doubt.c). That does not happen in each of three runs.
        """
        counts = []
        while len(counts) < 3 and [0] * 10 not in counts:
            counts.append(self.launches_in_waits())
        self.assertIn([0] * 10, counts)

    def test_auto_on_the_example(self):
        run = self.profiled(script("demo.py") + ["--steps", "200"])
        self.assertEqual(len(run.trace_steps()), 3, run.err)
        self.assertIn(self.facts(run)["steps"]["count"], (200, 201))
        for path in run.traces():
            kernels = [s.name for s in Trace(path).on("Stream") if s.name.endswith("us")]
            self.assertEqual(len(kernels), 27)
            self.assertEqual((kernels[0], kernels[-1]), ("linear_forward_200us", "zero_grad_20us"))

    def test_auto_ended_before_its_steps_were_known(self):
        """Steps detected afterwards are shown as scheduled, with the reason for their missing GPU
        times."""
        run = self.loop("plain", 14)
        self.assertEqual(run.trace_steps(), [12, 13], run.err)
        self.assertEqual("".join(run.own_lines()).count("no GPU times for steps 12 to 13: "), 1,
                         run.err)
        self.assertEqual([s for path in run.traces() for s in Trace(path).on("Stream")], [])
        self.assertNotIn("no GPU times", self.loop("plain", 14, PROF_STEP="kernel:first",
                                                   PROF_SCHEDULE="always").err)

    def test_optimizer_that_never_runs(self):
        run = self.loop("plain", 60, PROF_STEP="optimizer")
        self.assertEqual(
            "".join(run.own_lines()).count(
            "PROF_STEP=optimizer: no loop with an optimizer step found"),
            1, run.err)
        self.assertEqual(run.trace_steps(), [0])

    def test_auto_ended_before_the_schedule_began(self):
        run = self.loop("plain", 11)
        self.assertEqual(run.trace_steps(), [0], run.err)
        words = "only 11 steps ran, but recording starts at step 12 (counted from 0)"
        self.assertEqual(" ".join(run.err.split()).count(words), 1, run.err)
        # Once among the reasons, once under "Not available".
        self.assertEqual(" ".join(self.tool("report", run.folder).out.split()).count(words), 2)

    def test_auto_locks_late_and_moves_the_window(self):
        run = self.loop(
            "plain",
            150,
            500,
            PROF_SCHEDULE="skip_first=0,wait=0,warmup=1,active=2,repeat=1",
            **PACED,
        )
        first = run.trace_steps()[0]
        self.check_steps(run, [first, first + 1])
        self.assertEqual(self.facts(run)["steps"]["schedule_shift"], first - 1)
        late = (f"recording began {first - 1} steps later than scheduled, because steps were "
                "detected too late")
        self.assertEqual(" ".join(run.err.split()).count(late), 1, run.err)
        in_time = self.loop(
            "plain",
            210,
            500,
            PROF_SCHEDULE="skip_first=200,wait=0,warmup=1,active=2,repeat=1",
            **PACED,
        )
        self.check_steps(in_time, [201, 202])
        self.assertNotIn("later than scheduled", " ".join(in_time.err.split()))
        self.assertEqual(self.iteration_of(run, first), first)

    def test_auto_always(self):
        run = self.loop("plain", 40, 500, PROF_SCHEDULE="always")
        self.assertGreaterEqual(len(run.trace_steps()), 39, run.err)
        whole = [path for path in run.traces_in_order()[2:35]]
        for path in whole:
            work = [s.name for s in Trace(path).on("Stream") if s.name.endswith("us")]
            self.assertEqual(sorted(work), sorted(STEP_KERNELS))

    def test_repeat_forever(self):
        run = self.loop("plain", 20, PROF_STEP="kernel:first",
                        PROF_SCHEDULE="skip_first=0,wait=2,warmup=1,active=1,repeat=0")
        self.check_steps(run, [3, 7, 11, 15, 19])

    def test_always(self):
        run = self.loop("plain", 5, PROF_STEP="kernel:first", PROF_SCHEDULE="always")
        self.assertEqual(run.trace_steps(), [0, 1, 2, 3, 4])

    def test_off(self):
        run = self.loop("plain", 30, PROF_SCHEDULE="off")
        self.assertEqual(run.trace_steps(), [])

    def test_run_that_ends_before_the_window(self):
        run = self.loop("plain", 5)
        self.assertFalse(run.other_err())
        self.assertIn("only 5 steps ran, but recording starts at step 12 (counted from 0)", run.err)
        self.assertIn("set PROF_SCHEDULE=always", " ".join(run.err.split()))
        self.assertEqual(run.trace_steps(), [0])

    def test_the_proposed_schedule_fits(self):
        run = self.loop("plain", 40, PROF_STEP="kernel:first", PROF_SCHEDULE="skip_first=1000")
        proposed = re.search(r"set PROF_SCHEDULE=(\S+) or PROF_SCHEDULE=always",
                             " ".join(run.err.split())).group(1)
        run = self.loop("plain", 40, PROF_STEP="kernel:first", PROF_SCHEDULE=proposed)
        self.assertEqual(run.trace_steps(), [19, 20, 21], run.err)

    def test_window_cut_by_the_end(self):
        run = self.loop("plain", 6, PROF_STEP="kernel:first",
                        PROF_SCHEDULE="skip_first=4,wait=0,warmup=0,active=5,repeat=1")
        self.assertEqual(run.trace_steps(), [4, 5])


if __name__ == "__main__":
    unittest.main()
