"""Steps that are counted early, by a provisional anchor, before the steps are certain."""
import os
import time

from harness import NO_OPENING, Run
from journal import GPU_STATE, STEP
from test_regime import COUNTING, LOST_CALLS, PROVISIONAL, RegimeCase, WITHDRAWN
from trace import Trace

CRITIC_CALLS, GENERATOR_CALLS = 23, 28  # launches of a step of each
ITERATION_CALLS = 5 * CRITIC_CALLS + GENERATOR_CALLS
ITERATION_KERNELS = {"first_10us": 5 * 20, "spin_5us": 25,
                     "multi_tensor_apply_kernel_adam_2us": 6 * 3}
FIRST_CRITICS = 5


class ProvisionalCase(RegimeCase):
    def provisional_critics(self, schedule):
        """Starts a WGAN, whose first critic steps are taken for its steps; returns their number."""
        live = self.start(schedule, step=None)
        n = FIRST_CRITICS
        live.do(f"critic {n}")
        self.eventually("an anchor", lambda: self.journal(live).anchor_generation == 1)
        return live, n

    def is_sure(self, live):
        """Whether the library counts by a confirmed anchor. It has adopted one that has a base."""
        journal = self.journal(live)
        return (journal.sure_generation == journal.anchor_generation == journal.base_generation
                and journal.step_state in COUNTING)

    def until_sure(self, live, command):
        """Sends the command until the anchor is final; returns how often."""
        for n in range(300):
            if self.is_sure(live):
                return n
            live.do(command)
            time.sleep(0.02)
        self.fail(f"never sure; {live.err()}")


class Provisional(ProvisionalCase):
    SETTINGS = NO_OPENING

    def test_steps_are_counted_before_it_is_certain(self):
        live, made = self.provisional_critics("skip_first=6,wait=0,warmup=0,active=2,repeat=1")
        self.assertEqual(self.journal(live).sure_generation, 0)
        made += self.until_sure(live, "critic 1")
        live.do("critic 20")
        run = live.end()
        begins = self.begins(run.journal())
        self.assertEqual(begins[1][0], 1)
        self.assertLess(begins[1][1], made)
        self.assertIn(self.facts(run)["count"], (made + 20, made + 19))
        self.assertNotIn("corrected", self.facts(run))
        self.assertEqual(run.journal().void_generation, 0)
        self.assertEqual(len(run.trace_steps()), 2)

    def test_a_critic_step_is_not_the_whole_step(self):
        live, n = self.provisional_critics("skip_first=2,wait=0,warmup=0,active=2,repeat=1")
        self.assertEqual((n, self.journal(live).sure_generation), (5, 0))
        live.do("generator 1")
        live.do("wgan 1")
        self.eventually("steps are counted", lambda: self.journal(live).base_generation == 1)
        live.do("wgan 1")
        # Recorded with the wrong steps, and held back.
        self.assertEqual(Run(0, "", "", live.folder).trace_steps(), [])
        # Else the second window might begin before the first one's GPU work has been read.
        self.eventually("CUPTI is off", lambda: "off" in {
            r.state for r in self.journal(live).of(GPU_STATE)})
        made = 3 + self.until_sure(live, "wgan 1")
        live.do("wgan 20")
        run = live.end()
        facts, journal = self.facts(run), run.journal()
        self.assertIn(facts["count"], (made + 20, made + 19))
        self.assertEqual((facts["period"], facts["corrected"]),
                         (ITERATION_CALLS, {"times": 1, "period_before": CRITIC_CALLS}))
        numbers = [number for generation, number in self.begins(journal) if generation == 2]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertLessEqual(numbers[0], made + 1)
        self.check_windows(run)
        self.check_losses(run)
        info = self.tool("info", run.folder)
        self.assertRegex(info.out, rf"steps +{facts['count']}, detected by auto")
        with open(os.path.join(run.folder, "report.txt")) as file:
            self.assertIn(f"at first, steps were wrongly detected as {CRITIC_CALLS} calls long",
                          " ".join(file.read().split()))

    def check_losses(self, run):
        """Checks that calls recorded after a window, because steps were still being learned, count
        as no loss, and that calls with GPU times are there."""
        journal = run.journal()
        states = sorted((r.ticks, r.state) for r in journal.of(GPU_STATE)
                        if r.state in ("on", "off"))
        self.assertEqual([state for _, state in states], ["on", "off"] * 2)
        begin, end, again, _ = (ticks for ticks, _ in states)
        launches = [c for c in journal.calls() if c.category == "launch"]
        self.assertTrue([c for c in launches if begin <= c.begin < end])
        self.assertTrue([c for c in launches if end <= c.begin < again])
        losses = run.json["processes"][0]["losses"]
        self.assertEqual((losses["calls_without_gpu_work"], losses["gpu_work_without_call"]),
                         (0, 0))

    def check_windows(self, run):
        """Checks that two of the right steps were recorded completely."""
        first, second = run.trace_steps()
        self.assertEqual(second, first + 1)
        for path in run.traces():
            names = [s.name for s in Trace(path).on("Stream") if s.name in ITERATION_KERNELS]
            self.assertEqual({name: names.count(name) for name in ITERATION_KERNELS},
                             ITERATION_KERNELS, path)


class ProvisionalAnchorIsLost(ProvisionalCase):
    """The provisional anchor does not occur any more."""

    SETTINGS = NO_OPENING

    def lost(self):
        live, n = self.provisional_critics("skip_first=2,wait=0,warmup=0,active=2,repeat=1")
        live.do("critic 1")
        self.eventually(
            "counted",
            lambda: live.do("strange 1") is not None
            and self.journal(live).step_state == PROVISIONAL)
        for _ in range(LOST_CALLS // 1000 + 2):
            live.do("strange 1000")
        self.assertEqual((self.journal(live).lost, self.journal(live).step_state,
                          self.journal(live).sure_generation),
                         (1, WITHDRAWN, 0))
        return live, n + 1

    def test_other_steps_replace_it(self):
        """Its steps are void: numbers restart."""
        live, _ = self.lost()
        made = 0
        while self.journal(live).anchor_generation < 2 or not self.is_sure(live):
            live.do("generator 20")
            made += 20
            self.assertLess(made, 3000, live.err())
            time.sleep(0.02)
        live.do("generator 20")
        run = live.end()
        self.assertEqual(self.facts(run)["corrected"], {"times": 1, "period_before": CRITIC_CALLS})
        self.assertEqual(self.facts(run)["period"], GENERATOR_CALLS)
        self.assertIn(self.facts(run)["count"], (made + 20, made + 19))
        self.assertEqual(len(run.trace_steps()), 2)

    def test_it_occurs_again(self):
        live, n = self.lost()
        live.do("critic 20")
        self.eventually("sure", lambda: live.do("critic 1") is not None and self.is_sure(live))
        run = live.end()
        self.assertEqual((run.journal().lost, run.journal().anchor_generation), (1, 1))
        self.assertNotIn("corrected", self.facts(run))
        self.assertGreaterEqual(self.facts(run)["count"], n + 20)
