"""A program that changes to other work, in which the steps' anchor does not occur.

Steps are learned again, and their numbers continue.
"""
import json
import os
import time
import unittest

from harness import NO_OPENING, Run
from journal import STEP
from test_trigger import TriggerCase
from trace import Trace

# enum step_state of core/runtime/step_state.h
CONFIRMED, LOST, PROVISIONAL, OVERDUE, WITHDRAWN = 3, 4, 5, 6, 7
COUNTING = (CONFIRMED, PROVISIONAL, OVERDUE)
OTHER_CALLS = 5  # launches of a step of `other`
LONG_CALLS = 24  # launches of a step of `long`
LOST_CALLS = 10000  # launches without a step after which an anchor is lost


class RegimeCase(TriggerCase):
    def locked(self, schedule="skip_first=3,wait=0,warmup=0,active=2,repeat=1", steps="100"):
        """Starts a run until its steps are known; returns it and the number of its steps."""
        live = self.start(schedule, step=None)
        made = 0
        while True:
            live.do(steps)
            made += 100
            journal = self.journal(live)
            if journal.step_state in COUNTING and journal.current_step >= made - 1:
                return live, made
            self.assertLess(made, 20000, live.err())
            time.sleep(0.02)

    def journal(self, live):
        return Run(0, "", "", live.folder).journal()

    def begins(self, journal):
        return [(r.generation, r.number) for r in sorted(journal.of(STEP), key=lambda r: r.ticks)
                if r.event == "begin"]


class LeftOver(RegimeCase):
    """Work before the first step's end or after the last one's is recorded, but in no figure."""

    PAUSE_S = 1.5

    def check_figures(self, run):
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        armed = self.facts(run)["recorded_step_ms"]
        self.assertGreater(armed["n"], 40)
        self.assertLess(armed["max"], 1000 * self.PAUSE_S)
        self.assertLess(process["replay"]["measured_ms"],
                        armed["mean"] + 500 * self.PAUSE_S / armed["n"])

    def test_a_step_that_does_not_end(self):
        live, _ = self.locked("skip_first=3,wait=0,warmup=0,active=100000,repeat=1")
        live.do("50")
        live.do("strange 1")
        time.sleep(self.PAUSE_S)
        run = live.end()
        self.check_figures(run)
        (last,) = [s for s in Trace(run.traces_in_order()[-1]).slices if s.name.startswith("step ")]
        self.assertLess(last.end - last.time, 1e9 * self.PAUSE_S / 2)

    def test_setup_and_a_step_that_does_not_end(self):
        live = self.start("always", step=None)
        live.do("strange 1")
        time.sleep(self.PAUSE_S)
        live.do("200")
        live.do("strange 1")
        time.sleep(self.PAUSE_S)
        self.check_figures(live.end())


class Backup(RegimeCase):
    """A step ends even if its last launches sometimes differ."""

    def test_occasional_logs_cost_no_step(self):
        live, made = self.locked(steps="long 100")
        for _ in range(20):
            live.do("logs 1")
            live.do("long 9")
        run = live.end()
        journal = run.journal()
        self.assertNotEqual(journal.backup, 0)
        self.assertIn(self.facts(run)["count"], (made + 200, made + 199))
        self.assertEqual(journal.lost, 0)
        numbers = [number for _, number in self.begins(journal)]
        self.assertEqual(numbers[1:], list(range(numbers[1], numbers[-1] + 1)))
        info = self.tool("info", run.folder)
        self.assertRegex(info.out, rf"steps +{self.facts(run)['count']}, detected by auto")

    def test_a_log_in_every_later_step_loses_nothing(self):
        live, made = self.locked(steps="long 100")
        more = 2 * LOST_CALLS // LONG_CALLS
        live.do(f"logs {more}")
        run = live.end()
        self.assertEqual(run.journal().lost, 0)
        self.assertIn(self.facts(run)["count"], (made + more, made + more - 1))

    def test_logs_before_the_lock_are_counted(self):
        live = self.start("skip_first=3,wait=0,warmup=0,active=2,repeat=1", step=None)
        made = 0
        while self.journal(live).step_state not in COUNTING:
            live.do("long 9")
            live.do("logs 1")
            made += 10
            self.assertLess(made, 20000, live.err())
        run = live.end()
        self.assertIn(self.facts(run)["count"], (made, made - 1))


class Regime(RegimeCase):
    SETTINGS = NO_OPENING

    def relearned(self, live):
        """Does other work until its steps are learned, and 100 steps more; returns their number."""
        more = 0
        while (self.journal(live).anchor_generation < 2
               or self.journal(live).step_state not in COUNTING):
            live.do("other 200")
            more += 200
            self.assertLess(more, 40000, live.err())
        live.do("other 100")
        return more + 100

    def test_other_work_is_learned_and_numbers_continue(self):
        live, made = self.locked()
        more = self.relearned(live)
        run = live.end()
        journal = run.journal()
        begins = self.begins(journal)
        numbers = [number for _, number in begins]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertGreaterEqual(len([g for g, _ in begins if g >= 2]), 100)
        self.assertEqual(journal.lost, 1)
        # Only the steps from before the loss was noticed are uncounted.
        missed = made + more - self.facts(run)["count"]
        self.assertGreaterEqual(missed, 0)
        self.assertLessEqual(missed, LOST_CALLS // OTHER_CALLS + 1024 // OTHER_CALLS * 2 + 2)
        self.assertEqual((self.facts(run)["period"], self.facts(run)["boundary"]),
                         (OTHER_CALLS, "longest CPU gap"))
        # Detected afterwards from the journal alone, they are the same.
        info = self.tool("info", run.folder)
        self.assertEqual(info.status, 0, info.err)
        self.assertRegex(info.out, rf"steps +{self.facts(run)['count']}, detected by auto")

    def test_a_window_before_the_change_was_in_time(self):
        """The schedule waits for uncounted steps, which does not make earlier windows late."""
        live, made = self.locked("skip_first=5000,wait=0,warmup=0,active=2,repeat=1")
        live.do(str(5100 - made))
        self.relearned(live)
        run = live.end()
        self.assertEqual(self.facts(run)["recorded"], [5000, 5001])
        self.assertGreater(self.facts(run)["schedule_shift"], 0)
        self.assertNotIn("later than scheduled", run.err)

    def test_the_old_anchor_comes_back_first(self):
        live, made = self.locked()
        self.go_lost(live)
        before = self.journal(live).current_step
        live.do("50")
        journal = self.journal(live)
        # The collector looks at the steps after a long one; they count meanwhile.
        self.assertIn(journal.step_state, (CONFIRMED, OVERDUE))
        self.assertEqual(journal.lost, 1)
        self.assertGreaterEqual(journal.current_step, before + 49)
        run = live.end()
        self.assertEqual({g for g, number in self.begins(run.journal()) if number >= before}, {1})
        # The last step is uncounted, or one more.
        self.assertIn(self.facts(run)["count"], (made + 50, made + 51))

    def go_lost(self, live):
        """Launches so much without repetition that the anchor is lost."""
        for _ in range(12):
            live.do("strange 1000")

    def test_a_pause_loses_nothing(self):
        live, _ = self.locked()
        time.sleep(1)
        live.do("20")
        run = live.end()
        self.assertEqual(run.journal().lost, 0)
        self.assertEqual(run.journal().anchor_generation, 1)


class Slices(RegimeCase):
    """While nothing repeats, the schedule counts time slices."""

    SCHEDULE = "skip_first=1,wait=0,warmup=0,active=2,repeat=1"

    def test_nothing_repeats(self):
        live = self.start(self.SCHEDULE, step=None, PROF_LEARN_S=1)
        live.do("odd 4500")
        run = live.end()
        facts = self.facts(run)
        self.assertEqual((facts["detector"], facts["confidence"]), ("slices", 0), run.err)
        self.assertGreaterEqual(facts["slices"], 3)
        self.assertEqual(run.trace_steps(), [1, 2])
        for path in run.traces():
            (step,) = [s for s in Trace(path).slices if s.name.startswith("step ")]
            self.assertGreater(step.end - step.time, 0.9e9)
        said = [
            line for line in run.own_lines()
            if "no repeating step found within 1 s of the first launch: each slice of one" in line]
        self.assertEqual(len(said), 1, run.err)
        self.assertIn("slices of one second", " ".join(self.tool("report", run.folder).out.split()))
        again = self.tool("export", run.folder, "--format", "perfetto", "-o", self.folder())
        self.assertEqual(again.status, 0, again.err)
        self.assertIn("slice of one second", again.out)

    def test_left_when_steps_are_found(self):
        live = self.start(self.SCHEDULE, step=None, PROF_LEARN_S=1)
        live.do("odd 1500")
        self.eventually("slices",
                        lambda: live.do("odd 100") == "" and self.journal(live).slices > 0)
        slices = self.journal(live).current_step
        made = 0
        while self.journal(live).step_state not in COUNTING:
            live.do("long 100")
            made += 100
            self.assertLess(made, 20000, live.err())
        live.do("long 100")
        run = live.end()
        facts = self.facts(run)
        self.assertEqual(facts["detector"], "auto", run.err)
        self.assertLess(facts["step_ms"]["max"], 900, "slices must not be in the figures")
        numbers = [number for _, number in self.begins(run.journal())]
        self.assertEqual(numbers, sorted(set(numbers)))
        steps = [number for generation, number in self.begins(run.journal()) if generation]
        self.assertGreater(min(steps), slices)
        self.assertTrue(set(run.trace_steps()) & set(steps), run.err)

    def test_steps_found_in_time_need_no_slices(self):
        live = self.start(self.SCHEDULE, step=None, PROF_LEARN_S=1)
        while self.journal(live).step_state not in COUNTING:
            live.do("long 100")
        time.sleep(1.2)
        live.do("long 100")
        self.assertEqual(live.end().journal().slices, 0)


class CutShort(RegimeCase):
    SETTINGS = NO_OPENING

    def test_a_window_is_cut_when_the_anchor_is_lost(self):
        live, made = self.locked(schedule="skip_first=0,wait=0,warmup=0,active=1000000,repeat=1")
        for _ in range(13):
            live.do("strange 1000")
        self.assertEqual(self.journal(live).lost, 1)
        live.do("strange 2000")
        live.do("50")
        run = live.end()
        (cut,) = [r for r in run.journal().of(STEP) if r.event == "cut"]
        calls = [c for c in run.journal().calls() if c.category == "launch" and c.begin > cut.ticks]
        self.assertGreaterEqual(len(calls), 2000, "it must be known long before the program's end")
        path = [p for p in run.traces() if p.endswith(f"step-{cut.number}.pftrace.gz")]
        (step,) = [s for s in Trace(path[0]).slices if s.name == f"step {cut.number}"]
        self.assertEqual(step.args["end_never_came"], 1)
        self.assertIn(cut.number + 1, run.trace_steps(), "the window continues with the next step")
        self.assertIn(self.facts(run)["count"], (made + 50, made + 51))


if __name__ == "__main__":
    unittest.main()
