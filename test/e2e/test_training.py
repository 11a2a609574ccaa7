"""A program that evaluates for a long time before it trains.

Until then each forward pass is a step, and each training step contains such a pass, too.
"""
import json
import os
import signal
import time
import unittest

from harness import read_proc, script
from journal import STEP
from test_overdue import WINDOW, OverdueCase

PASS_CALLS, TRAIN_CALLS = 12, 2 * 12 + 1 + 20 + 3
PASSES = 300


class LateCollector(OverdueCase):
    def test_steps_and_the_exit_are_read_at_once(self):
        """The steps counted until the exit get their numbers before any of them is passed on."""
        live = self.start("always", step=None)
        live.do("pass 10")
        self.eventually("an anchor", lambda: self.journal(live).anchor_generation == 1)
        collector = self.stop_collector(live.folder)
        live.do("pass 100")
        pid = int(live.pid())
        live.child.stdin.close()
        self.eventually("the exit", lambda: b"steady" not in read_proc(pid, "cmdline"))
        time.sleep(0.5)  # after that, no more records can come
        os.kill(collector, signal.SIGCONT)
        run = live.end()
        self.assertIn(self.facts(run)["count"], (109, 110))
        self.assertEqual(self.facts(run)["period"], PASS_CALLS)


class SameSteps(OverdueCase):
    def test_a_second_look_finds_them_again(self):
        """No training begins where launches show the optimizer of the steps counted so far."""
        for _ in range(3):
            run = self.profiled([*script("demo.py"), "--steps", "1000"], PROF_LOG="info")
            facts = self.facts(run)
            self.assertNotIn("trains_from", facts)
            self.assertEqual((facts["count"], facts["traced"]), (1000, [12, 13, 14]))
            if "checking whether an optimizer ends steps now" in run.err:
                return
        self.skipTest("the first look saw the optimizer in each of three runs")


class Training(OverdueCase):
    def evaluated(self, schedule=WINDOW, passes=PASSES):
        """Starts a run until its passes are final steps; returns it and the number of passes."""
        live = self.start(schedule, step=None)
        live.do("pass 10")
        self.eventually("an anchor", lambda: self.journal(live).anchor_generation == 1)
        made = 10 + self.until_sure(live, "pass 1")
        live.do(f"pass {passes}")
        return live, made + passes

    def test_its_steps_are_the_optimizers(self):
        live, passes = self.evaluated()
        trained = 0
        while self.journal(live).anchor_generation < 2 or not self.is_sure(live):
            live.do("train 1")
            time.sleep(0.02)
            trained += 1
            self.assertLess(trained, 200, live.err())
        live.do("train 20")
        run = live.end()
        facts, journal = self.facts(run), run.journal()
        self.assertEqual((facts["period"], journal.lost), (TRAIN_CALLS, 0))
        numbers = [number for _, number in self.begins(journal)]
        self.assertEqual(numbers, sorted(set(numbers)))
        first = facts["trains_from"]
        self.assertGreaterEqual(first, passes - 2)
        self.assertIn(facts["count"] - first, range(20, trained + 21))
        # A window of passes; the schedule restarts with the training.
        windows = run.trace_steps()
        self.assertEqual(len(windows), 4, windows)
        self.assertGreaterEqual(windows[2], first)
        self.assertLessEqual(facts["step_ms"]["n"], trained + 20)
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        self.assertEqual(process["steps"]["trains_from"], first)
        self.assertEqual(round(sum(device["kernels_per_step"] for device in process["gpu"])),
                         TRAIN_CALLS)
        with open(os.path.join(run.folder, "report.txt")) as file:
            text = " ".join(file.read().split())
        self.assertIn(f"training starts at step {first};", text)
        self.assertIn(
            f"steps {facts['count'] - first} in training, auto-detected (", text)

    def test_training_begins_once(self):
        """It does not begin again after each evaluation long enough to have its own steps."""
        live, _ = self.trained()

        def is_counted(command, n):
            """The critic's steps may be counted by the anchor from before, or by a new one."""
            before = self.journal(live).current_step
            live.do(f"{command} {n}")
            return self.journal(live).current_step >= before + n - 1 and self.is_sure(live)

        for command in "long", "critic":
            self.eventually(f"the steps of {command}", lambda: is_counted(command, 20))
            live.do(f"{command} 20")
        run = live.end()
        self.assertEqual(len(run.trace_steps()), 2)
        self.assertNotIn("trains_from", self.facts(run))
        of_the_first = min(
            number for generation, number in self.begins(run.journal()) if generation == 2
        )
        self.assertGreater(self.facts(run)["step_ms"]["n"], self.facts(run)["count"] - of_the_first)

    def test_little_is_recorded_without_training(self):
        live, passes = self.evaluated()
        for _ in range(1000):
            live.do("pass 10")
            self.let_it_look(live)
        run = live.end()
        journal = run.journal()
        self.assertEqual((journal.anchor_generation, self.facts(run)["period"]), (1, PASS_CALLS))
        self.assertIn(passes + 10000 - self.facts(run)["count"], (0, 1))
        self.assertEqual([r for r in journal.of(STEP) if r.event == "cut"], [])
        sure = 128 * PASS_CALLS
        launches = [c for c in journal.calls() if c.category == "launch"]
        # one step in six at most, if steps happen to take longer now and then (preload/doubt.c)
        self.assertLess(len(launches) - 2 * sure, (passes + 10000) * PASS_CALLS / 6)


if __name__ == "__main__":
    unittest.main()
