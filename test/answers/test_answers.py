"""Programs with planted causes under profrun: what does not depend on how long anything takes.

The line, the file, the kind of wait, how often per step, how many steps. `make answers` judges the
rest: verdicts and gains.
"""
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import cases  # noqa: E402
import judge  # noqa: E402
import run  # noqa: E402

# The kind of each line's wait, and how often it waits per step.
WAITS = {
    "explicit_sync": ("explicit", 6),
    "read_per_layer": ("item", 8),
    "second_thread": ("explicit", 5),
    "log_copy": ("item", 1 / 3),
    "engine": ("explicit", 4),
    "copy_back": ("item", 6),
    "pageable_copy": ("copy", 1),
    "layers": ("event", 6),
    "accumulate": ("item", 4),
}


TRIES = 4

# Programs whose steps differ from the key; a test fails once they are right, so that the row is
# removed.
NOT_YET = {}


class AnswersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="profrun-answers-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base, ignore_errors=True)

    def process(self, name):
        """The case and what the report says of its process."""
        case, = (case for case in cases.CASES if case.name == name)
        if not os.path.exists(run.command(case)[-1]):
            self.skipTest(f"{name} is not built")
        steps, report = run.profiled(case, os.path.join(self.base, name), gpu=False)
        process = judge.main_process(report)
        is_right = abs(process["steps"]["count"] - steps) <= judge.STEPS_OFF
        self.assertEqual(is_right, name not in NOT_YET,
                         f"{process['steps']['count']} steps found of {steps}")
        if not is_right:
            self.skipTest(f"{name}: {NOT_YET[name]}")
        return case, process

    def test_waits_are_on_their_lines(self):
        for name, (kind, per_step) in WAITS.items():
            with self.subTest(name):
                case, process = self.process(name)
                row = process["syncs"][0]
                self.assertTrue(judge.same_file(row["file"], case.source), row)
                self.assertIn(row["line"], case.planted())
                self.assertEqual(row["kind"], kind)
                self.assertAlmostEqual(row["per_step"], per_step, delta=0.05 * per_step)

    def test_work_is_on_its_line(self):
        for name in ("long_kernel", "matrix"):
            with self.subTest(name):
                case, process = self.process(name)
                row = process["lines"][0]
                self.assertTrue(judge.same_file(row["file"], case.source), row)
                self.assertIn(row["line"], case.planted())

    def test_captured_work_is_on_its_line(self):
        for name in ("graph_extra_kernel", "graph_small_kernels", "graph_one_stream"):
            with self.subTest(name):
                case, process = self.process(name)
                row = judge.rows(process, "gpu")[0]
                self.assertTrue(judge.is_planted(process, row, case.source, case.planted()), row)
                self.assertEqual(row["graph_gpu_ms_per_step"], row["gpu_ms_per_step"])
                self.assertNotIn("CUDA graph", json.dumps(process["advice"]))

    def test_a_host_function_in_a_graph_is_the_cause_of_its_gap(self):
        case, process = self.process("graph_host_function")
        gap = max(process["idle"], key=lambda row: row["ms_per_step"])
        self.assertEqual(gap["cause"], "graph_host")
        self.assertTrue(judge.is_planted(process, gap, case.source, case.planted()), gap)

    def test_savings_in_a_graph(self):
        """Savings depend on times, so a disturbed run is repeated."""
        for name in ("graph_extra_kernel", "graph_host_function", "graph_copy_out"):
            with self.subTest(name):
                case, = (case for case in cases.CASES if case.name == name)
                if not os.path.exists(run.command(case)[-1]):
                    self.skipTest(f"{name} is not built")
                for _ in range(TRIES):
                    outcome = run.answer(case, os.path.join(self.base, name), gpu=False)
                    if outcome.line_right and outcome.near:
                        break
                self.assertTrue(outcome.line_right and outcome.near, outcome)

    def test_leak_is_on_its_line(self):
        case, process = self.process("leak")
        row = process["memory"]["leaks"][0]
        self.assertTrue(judge.same_file(row["file"], case.source), row)
        self.assertIn(row["line"], case.planted())
        self.assertAlmostEqual(row["bytes_per_step"], 2 << 20, delta=(2 << 20) * 0.05)

    def test_idle_causes_sum_to_the_idle_time(self):
        for name in ("mix", "slow_input"):
            with self.subTest(name):
                _, process = self.process(name)
                idle = sum(gpu["idle_ms_per_step"] for gpu in process["gpu"])
                self.assertAlmostEqual(sum(row["ms_per_step"] for row in process["idle"]), idle,
                                       places=3)

    def test_clean_programs_are_promised_nothing(self):
        """Margins are wide: a tenth of the step. A run too disturbed for a verdict is repeated."""
        for name in ("clean_gpu", "clean_graph", "clean_streams"):
            with self.subTest(name):
                for _ in range(TRIES):
                    _, process = self.process(name)
                    if process["bound"]["verdict"] != "unknown":
                        break
                step_ms = process["replay"]["measured_ms"]
                promised = [row["expected_ms_per_step"] for row in process["advice"]]
                self.assertLess(max(promised, default=0), 0.1 * step_ms,
                                json.dumps(process["advice"]))
                self.assertEqual(process["bound"]["verdict"], "gpu")


if __name__ == "__main__":
    unittest.main()
