"""Programs built on packages from PyPI (test/torch/users), written as their users write them, on the simulated GPU.

Each runs three times: alone, under profrun with nothing set but the schedule, and with torch.profiler around it (oracle.py). Alone and
under profrun it must print the same and end the same; what profrun's report says must be what torch.profiler saw.
"""
import collections
import json
import os
import re
import subprocess
import unittest

import test_torch
from harness import Case, LAUNCHER, SIM, environment
from kineto import Kineto
from test_torch import HERE, STEPS, armed_steps, demangle, kernels_of

SCHEDULE = "skip_first=20,wait=0,warmup=2,active=3,repeat=1"
ARMED = 3
STEPS_OFF = 1  # a first or last turn that differs from the others may be none
PRELOADED = ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so")
MEASURED = re.compile(r"(_runtime|_per_second)': '[0-9.e+-]+'")  # what a program says of its own speed
PHASES = {"forward", "backward", "optimizer"}


def setUpModule():
    global PYTHON
    PYTHON = test_torch.python()
    if test_torch.ON_GPU:
        raise unittest.SkipTest("one run's kernels take as long as another's on the simulated GPU only")


def said(text):
    """Output without what differs from one run alone to the next."""
    return MEASURED.sub(r"\1': '-'", text)


def has_package(name):
    return subprocess.run([PYTHON, "-c", f"import importlib.util as u, sys; sys.exit(not u.find_spec({name!r}))"]).returncode == 0


class Program:
    """The runs of one program; its tests are in the classes below."""
    script = ""
    package = "torch"

    @classmethod
    def setUpClass(cls):
        if not has_package(cls.package):
            raise unittest.SkipTest(f"{cls.package} could not be had from PyPI")
        super().setUpClass()
        case = cls("test_prints_what_it_prints_alone")
        program = [os.path.join(HERE, "users", cls.script), str(STEPS)]
        cls.alone = case.python(program)
        trace = os.path.join(cls.base, "kineto.json")
        cls.seen = case.python([os.path.join(HERE, "oracle.py"), trace, *program])
        folder = case.folder()
        line = [LAUNCHER, "--sim", "-o", folder, "--schedule", SCHEDULE, "--", PYTHON, *program]
        cls.run_ = case.execute(line, folder, environment(HF_HUB_OFFLINE=1), timeout=300)
        if cls.alone.status == cls.seen.status == cls.run_.status == 0:
            cls.kineto, cls.journal = Kineto(trace), cls.run_.journal()
            with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
                cls.process, = json.load(file)["processes"]

    def python(self, command):
        """Without profrun."""
        preload = " ".join(os.path.join(SIM, name) for name in PRELOADED)
        return self.execute([PYTHON, *command], self.folder(), environment(LD_PRELOAD=preload, HF_HUB_OFFLINE=1), timeout=300)

    def test_prints_what_it_prints_alone(self):
        self.assertEqual(self.alone.status, 0, self.alone.err)
        self.assertEqual(self.seen.status, 0, self.seen.err)
        self.assertEqual(self.run_.status, 0, self.run_.err)
        self.assertEqual(said(self.run_.out), said(self.alone.out))
        self.assertEqual(said(self.run_.other_err()), said(self.alone.err))

    def test_steps(self):
        steps = self.process["steps"]
        self.assertLessEqual(abs(steps["count"] - STEPS), STEPS_OFF, steps)
        self.assertEqual(len(steps["armed"]), ARMED)
        self.assertEqual(self.run_.trace_steps(), steps["armed"])

    def test_kernels_are_those_that_torch_profiler_sees(self):
        """The recorded steps are a part of torch.profiler's steps, which are all alike: names, their order, times, and how many a step."""
        theirs = [(work.name, work.us) for work in self.kineto.work("kernel")]
        a_step = collections.Counter(len(step) for step in self.kineto.by_step("kernel"))
        self.assertEqual(len(a_step), 1, a_step)
        names = demangle(self.journal.kernel_name(k) for k in self.journal.gpu() if k.work == "kernel")
        ours = [[(names[self.journal.kernel_name(k)], (self.journal.ns(k.end) - self.journal.ns(k.begin)) / 1e3)
                 for k in kernels_of(self.journal, begin, end)] for _, begin, end in armed_steps(self.journal)]
        self.assertEqual([len(step) for step in ours], list(a_step) * ARMED)
        row, all_names = [name for step in ours for name, _ in step], [name for name, _ in theirs]
        at = next((i for i in range(len(all_names)) if all_names[i:i + len(row)] == row), None)
        self.assertIsNotNone(at, "the kernels of the recorded steps do not come in this order in torch.profiler's trace")
        sums = [sum(us for step in ours for _, us in step), sum(us for _, us in theirs[at:at + len(row)])]
        self.assertAlmostEqual(sums[0] / sums[1], 1, delta=0.01)

    def test_report_says_the_same(self):
        kernels, by_name = self.kineto.by_step("kernel")[0], collections.defaultdict(list)
        for work in kernels:
            by_name[work.name].append(work.us / 1e3)
        rows = {row["name"]: (row["per_step"], row["gpu_ms_per_step"]) for row in self.process["kernels"]}
        self.assertEqual({name: per_step for name, (per_step, _) in rows.items()}, {name: len(ms) for name, ms in by_name.items()})
        for name, ms in by_name.items():
            self.assertAlmostEqual(rows[name][1], sum(ms), delta=0.001 + 0.01 * sum(ms), msg=name)
        gpu, = self.process["gpu"]
        self.assertEqual(gpu["kernels_per_step"], len(kernels))

    def test_copies_are_those_that_torch_profiler_sees(self):
        """Counts and bytes of each direction in a step."""
        ours, theirs = collections.Counter(), collections.Counter()
        for row in self.process["copies"]:
            ours[row["kind"]] += row["per_step"]
            ours[row["kind"] + " bytes"] += row["bytes_per_step"]
        for copy in self.kineto.by_step("gpu_memcpy")[0]:
            kind = copy.name.split()[1]  # "Memcpy HtoD (Pageable -> Device)"
            theirs[kind] += 1
            theirs[kind + " bytes"] += copy.bytes
        self.assertEqual(ours, theirs)

    def test_phases(self):
        phases = {row["name"]: row["host_ms_per_step"] for row in self.process["phases"]}
        self.assertLessEqual(PHASES, phases.keys())
        armed_ms = self.process["baseline"]["armed_ms"]["mean"]
        self.assertAlmostEqual(sum(phases.values()), armed_ms, delta=0.01 + armed_ms / 1000)

    def test_nothing_is_lost(self):
        self.assertEqual(set(self.process["self"]["losses"].values()), {0}, self.process["self"])
        self.assertEqual(self.process["cannot_say"], [])


class Gpt2Trainer(Program, Case):
    script, package = "gpt2_trainer.py", "transformers"


class Resnet18(Program, Case):
    script, package = "resnet18.py", "torchvision"


class TimmVit(Program, Case):
    script, package = "timm_vit.py", "timm"


class LightningTrainer(Program, Case):
    script, package = "lightning_mlp.py", "lightning"


class NnTransformer(Program, Case):
    script = "nn_transformer.py"


class GradScaler(Program, Case):
    script = "grad_scaler.py"


if __name__ == "__main__":
    unittest.main()
