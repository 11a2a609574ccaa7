"""Operators, lines and modules of a training step against torch.profiler and autograd (tied.py)."""
import json
import os
import statistics
import unittest

from sim_case import NO_OPENING, SimCase, report_of
from test_torch import HERE

SCHEDULE = "skip_first=15,wait=0,warmup=2,active=4,repeat=1"
PROGRAM = os.path.join(HERE, "tied.py")


def ranks(values):
    order = sorted(values)
    return [order.index(value) for value in values]


class Tied(SimCase):
    def both(self, kind):
        """The report's process, and the truth."""
        truth = os.path.join(self.base, kind + ".json")
        seen = self.alone([PROGRAM, kind, "truth", truth])
        self.assertEqual(seen.status, 0, seen.err)
        run = self.under_profrun([PROGRAM, kind], SCHEDULE, "--step", "nvtx:step")
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        with open(truth, encoding="utf-8") as file:
            return process, json.load(file)

    def check_operators(self, process, truth):
        """Runs that launch, and the GPU time of what each launched itself: the same."""
        ours = {x["name"]: x for x in process["operators"]}
        self.assertEqual(set(ours), set(truth["operators"]))
        for name, (runs, gpu_us) in truth["operators"].items():
            self.assertAlmostEqual(ours[name]["per_step"], runs, delta=0.001, msg=name)
            self.assertAlmostEqual(ours[name]["self_gpu_ms_per_step"], gpu_us / 1e3,
                                   delta=0.0005 + 0.01 * gpu_us / 1e3, msg=name)
            self.assertGreaterEqual(ours[name]["gpu_ms_per_step"],
                                    ours[name]["self_gpu_ms_per_step"], name)
            self.assertGreaterEqual(ours[name]["host_ms_per_step"],
                                    ours[name]["self_host_ms_per_step"], name)
        kernels = sum(x["gpu_ms_per_step"] for x in process["lines"])
        self.assertAlmostEqual(sum(x["self_gpu_ms_per_step"] for x in process["operators"]),
                               kernels, delta=0.01 * kernels)

    def check_host_times(self, kind):
        """Compares the same steps. What is seen of a run lies within it, so no operator has more
        time than torch.profiler reports, which also counts runs that launch nothing. For most
        operators whose runs all launch, more than half of the time is seen."""
        told = os.path.join(self.base, kind + "_under.json")
        run = self.under_profrun([PROGRAM, kind, "under", told], SCHEDULE, "--step", "nvtx:step",
                                 **NO_OPENING)
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        with open(told, encoding="utf-8") as file:
            steps = [step for number, step in enumerate(json.load(file))
                     if number in process["steps"]["recorded"]]
        self.assertEqual(len(steps), 4)
        seen, whole = [], []  # of a run
        for x in process["operators"]:
            runs = sum(step[x["name"]][0] for step in steps) / len(steps)
            us = sum(step[x["name"]][1] for step in steps) / len(steps)
            self.assertLessEqual(1e3 * x["host_ms_per_step"], us + 0.2 + 0.01 * us, x["name"])
            if abs(x["per_step"] - runs) < 0.001:
                seen.append(1e3 * x["host_ms_per_step"] / runs)
                whole.append(us / runs)
        return seen, whole

    def test_host_times_lie_within_torch_profilers(self):
        """Without allocations only the time from the first CUDA call to the last is seen: a third
        of the whole, in a different order. With them about half is seen, 0.44 on a busy machine.
        There a wait for the CPU can also change the order: one of three runs must have it."""
        for kind in ("mlp", "block"):
            with self.subTest(kind):
                correlations = []
                while not correlations or (correlations[-1] <= 0.65 and len(correlations) < 3):
                    seen, whole = self.check_host_times(kind)
                    self.assertGreater(statistics.median(a / b for a, b in zip(seen, whole)), 0.4)
                    correlations.append(statistics.correlation(ranks(seen), ranks(whole)))
                self.assertGreater(correlations[-1], 0.65, correlations)

    def check_lines(self, process, truth, least):
        """Never more on a line than there is; of all there is at least that share on a line."""
        ours = {str(x["line"]): 1e3 * x["backward_gpu_ms_per_step"] for x in process["lines"]
                if x["backward_gpu_ms_per_step"]}
        self.assertLessEqual(set(ours), set(truth["lines"]))
        wrong_us = sum(max(0, us - truth["lines"][line]) for line, us in ours.items())
        self.assertLess(wrong_us, 0.02 * truth["backward_us"], (ours, truth["lines"]))
        self.assertGreater(sum(ours.values()), least * truth["backward_us"], (ours, truth["lines"]))
        self.assertAlmostEqual(1e3 * process["backward"]["gpu_ms_per_step"], truth["backward_us"],
                               delta=0.02 * truth["backward_us"])
        self.assertAlmostEqual(1e3 * process["backward"]["tied_gpu_ms_per_step"],
                               sum(ours.values()), delta=1)

    def modules(self, process):
        return {x["name"]: (x["per_step"], round(1e3 * x["gpu_ms_per_step"]),
                            round(1e3 * x["backward_gpu_ms_per_step"]))
                for x in process["modules"]}

    def check(self, kind, least):
        process, truth = self.both(kind)
        self.check_operators(process, truth)
        self.check_lines(process, truth, least)
        return self.modules(process)

    def test_mlp(self):
        modules = self.check("mlp", 0.9)
        self.assertEqual(modules["Mlp.Linear"], (6, 60, 170))

    def test_block(self):
        modules = self.check("block", 0.85)
        self.assertEqual(modules["Transformer.Block.Linear"], (12, 120, 360))
        self.assertEqual(modules["Transformer.Block"][:2], (3, 540))

    def test_checkpoint(self):
        self.check("checkpoint", 0.85)

    def test_accumulation(self):
        self.check("accumulation", 0.85)

    def test_resnet18(self):
        modules = self.check("resnet18", 0.95)
        self.assertEqual({name: runs for name, (runs, _, _) in modules.items()
                          if name.endswith("BasicBlock")},
                         {"ResNet.Sequential.BasicBlock": 8})

    def test_a_frozen_copy_is_not_taken_for_the_model(self):
        self.check("teacher", 0.2)

    def test_two_passes_through_the_same_layers(self):
        """Autograd's notes are those of the second pass. No line of the first pass may get work of
        the second one."""
        process, truth = self.both("two_passes")
        self.check_operators(process, truth)
        ours = {x["source"]: 1e3 * x["backward_gpu_ms_per_step"] for x in process["lines"]
                if x["backward_gpu_ms_per_step"]}
        self.assertFalse([line for line in ours if "self.other(x)" in line], ours)
        self.assertFalse([line for line in ours if "return x * 2" in line], ours)
        for line, us in truth["lines"].items():
            self.assertLessEqual(sum(1e3 * x["backward_gpu_ms_per_step"] for x in process["lines"]
                                     if str(x["line"]) == line), us + 1)

    def test_python_autograd_functions(self):
        """Named by their classes, as in torch.profiler: nested functions, a class within a
        function, one under autocast's decorator."""
        process, truth = self.both("functions")
        self.check_operators(process, truth)
        self.assertLessEqual({"Doubled", "DoubledBackward", "Outer", "OuterBackward", "Cast",
                              "CastBackward"}, set(truth["operators"]))

    def test_reentrant_checkpoint(self):
        """The block's nodes belong to what the pass computes again. Autograd's own notes do not
        reach there; the blocks' lines are those of "block"."""
        process, _ = self.both("reentrant")
        _, truth = self.both("block")
        self.check_lines(process, truth, 0.85)


if __name__ == "__main__":
    unittest.main()
