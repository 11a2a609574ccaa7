"""A program that goes over to other work, where the steps' anchor does not come any more: steps are learned again, their numbers go on."""
import time
import unittest

from harness import Run
from journal import STEP
from test_trigger import TriggerCase

LOCKED = 3  # enum step_state of core/record.h
OTHER_CALLS = 5  # launches of a step of `other`
LOST_CALLS = 10000  # launches without a step after which an anchor counts as lost


class Regime(TriggerCase):
    def locked(self, schedule="skip_first=3,wait=0,warmup=0,active=2,repeat=1"):
        """A run whose steps are known, and how many it has made."""
        live = self.start(schedule, step=None)
        made = 0
        while True:
            live.do("100")
            made += 100
            journal = self.journal(live)
            if journal.step_state == LOCKED and journal.current_step >= made - 1:
                return live, made
            self.assertLess(made, 20000, live.err())
            time.sleep(0.02)

    def journal(self, live):
        return Run(0, "", "", live.folder).journal()

    def begins(self, journal):
        return [(r.generation, r.number) for r in sorted(journal.of(STEP), key=lambda r: r.ticks) if r.event == "begin"]

    def test_other_work_is_learned_and_numbers_go_on(self):
        live, made = self.locked()
        more = 0
        while self.journal(live).anchor_generation < 2 or self.journal(live).step_state != LOCKED:
            live.do("other 200")
            more += 200
            self.assertLess(more, 40000, live.err())
        live.do("other 100")
        more += 100
        run = live.end()
        journal = run.journal()
        begins = self.begins(journal)
        numbers = [number for _, number in begins]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertGreaterEqual(len([g for g, _ in begins if g >= 2]), 100)
        self.assertEqual(journal.lost, 1)
        # what nobody counted are the steps before the loss was noticed, and no more than those
        missed = made + more - self.facts(run)["count"]
        self.assertGreaterEqual(missed, 0)
        self.assertLessEqual(missed, LOST_CALLS // OTHER_CALLS + 1024 // OTHER_CALLS * 2 + 2)
        self.assertEqual((self.facts(run)["period"], self.facts(run)["boundary"]), (OTHER_CALLS, "longest host gap"))
        # told afterwards from the journal alone, they are the same
        info = self.tool("info", run.folder)
        self.assertEqual(info.status, 0, info.err)
        self.assertRegex(info.out, rf"steps +{self.facts(run)['count']} by auto")

    def test_the_old_anchor_comes_back_first(self):
        live, made = self.locked()
        self.go_lost(live)
        before = self.journal(live).current_step
        live.do("50")
        journal = self.journal(live)
        self.assertEqual((journal.step_state, journal.lost), (LOCKED, 1))
        self.assertGreaterEqual(journal.current_step, before + 49)
        run = live.end()
        self.assertEqual({g for g, number in self.begins(run.journal()) if number >= before}, {1})
        self.assertIn(self.facts(run)["count"], (made + 50, made + 51))  # what nobody counts is the last step's, or one more

    def go_lost(self, live):
        """More launches than an anchor may fail to come in, in which nothing repeats."""
        for _ in range(12):
            live.do("strange 1000")

    def test_a_pause_loses_nothing(self):
        live, _ = self.locked()
        time.sleep(1)
        live.do("20")
        run = live.end()
        self.assertEqual(run.journal().lost, 0)
        self.assertEqual(run.journal().anchor_generation, 1)


if __name__ == "__main__":
    unittest.main()
