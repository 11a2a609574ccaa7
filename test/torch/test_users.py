"""Programs built on packages from PyPI (test/torch/users), written the way their users write them,
on the simulated GPU.

Each runs three times: alone, under profrun with nothing set but the schedule, and inside
torch.profiler (oracle.py). Alone and under profrun it must print the same and end the same way.
profrun's report must agree with what torch.profiler saw.
"""
import collections
import os
import re
import subprocess
import unittest

from torch_trace import Kineto
from sim_case import NO_OPENING, STEPS_OFF, SimCase, report_of
from test_torch import HERE, STEPS
from trace import Trace

SCHEDULE = "skip_first=20,wait=0,warmup=2,active=3,repeat=1"
ARMED = 3
# Makes the steps long enough that profrun detects them before step 20 on a busy machine, too.
SLOW_LAUNCHES = {"PROFSIM_LAUNCH_US": 200}
MEASURED = re.compile(r"(_runtime|_per_second)': '[0-9.e+-]+'")  # speeds that a program prints
PHASES = {"forward", "backward", "optimizer"}


def said(text):
    """Output without what differs from one run alone to the next."""
    return MEASURED.sub(r"\1': '-'", text)


def kernels_of(trace):
    """[(name, us)] in the order of their launches."""
    found = [s for s in trace.slices if {"correlation", "grid"} <= s.args.keys()
             and "kernel" not in s.args]
    return [(s.name, (s.end - s.time) / 1e3)
            for s in sorted(found, key=lambda s: int(s.args["correlation"]))]


class Program:
    """The runs of one program; its tests are in the classes below."""
    script = ""
    package = "torch"
    # the report's steps are those with traces, and all alike
    SETTINGS = NO_OPENING

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not cls.has_package():
            raise unittest.SkipTest(f"{cls.package} could not be had from PyPI")
        case = cls("test_prints_what_it_prints_alone")
        program, trace = ([os.path.join(HERE, "users", cls.script), str(STEPS)],
                          os.path.join(cls.base, "kineto.json"))
        cls.run_alone = case.alone(program)
        cls.seen = case.alone([os.path.join(HERE, "oracle.py"), trace, *program])
        cls.run_ = case.under_profrun(program, SCHEDULE, **SLOW_LAUNCHES)
        if cls.run_alone.status == cls.seen.status == cls.run_.status == 0:
            cls.kineto = Kineto(trace)
            cls.process, = report_of(cls.run_)["processes"]

    @classmethod
    def has_package(cls):
        asks = f"import importlib.util as u, sys; sys.exit(not u.find_spec({cls.package!r}))"
        return subprocess.run([cls.interpreter, "-c", asks]).returncode == 0

    def test_prints_what_it_prints_alone(self):
        self.assertEqual(self.run_alone.status, 0, self.run_alone.err)
        self.assertEqual(self.seen.status, 0, self.seen.err)
        self.assertEqual(self.run_.status, 0, self.run_.err)
        self.assertEqual(said(self.run_.out), said(self.run_alone.out))
        self.assertEqual(said(self.run_.other_err()), said(self.run_alone.err))

    def test_steps(self):
        steps = self.process["steps"]
        self.assertLessEqual(abs(steps["count"] - STEPS), STEPS_OFF, steps)
        self.assertEqual(len(steps["recorded"]), ARMED)
        self.assertEqual(self.run_.trace_steps(), steps["recorded"])

    def test_kernels_are_those_that_torch_profiler_sees(self):
        """The recorded steps are among torch.profiler's steps, which are all alike: kernel names,
        order, times, and number per step."""
        theirs = [(work.name, work.us) for work in self.kineto.work("kernel")]
        a_step = collections.Counter(len(step) for step in self.kineto.by_step("kernel"))
        self.assertEqual(len(a_step), 1, a_step)
        ours = [kernels_of(Trace(path)) for path in self.run_.traces_in_order()]
        self.assertEqual([len(step) for step in ours], list(a_step) * ARMED)
        row, all_names = [name for step in ours for name, _ in step], [name for name, _ in theirs]
        at = next((i for i in range(len(all_names)) if all_names[i:i + len(row)] == row), None)
        self.assertIsNotNone(at, "the kernels of the recorded steps do not come in this order in "
                             "torch.profiler's trace")
        sums = [sum(us for step in ours for _, us in step),
                sum(us for _, us in theirs[at:at + len(row)])]
        self.assertAlmostEqual(sums[0] / sums[1], 1, delta=0.01)

    def test_report_says_the_same(self):
        kernels, by_name = self.kineto.by_step("kernel")[0], collections.defaultdict(list)
        for work in kernels:
            by_name[work.name].append(work.us / 1e3)
        rows = {row["name"]: (row["per_step"], row["gpu_ms_per_step"])
                for row in self.process["kernels"]}
        self.assertEqual({name: per_step for name, (per_step, _) in rows.items()},
                         {name: len(ms) for name, ms in by_name.items()})
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
        recorded_ms = self.process["baseline"]["recorded_ms"]["mean"]
        self.assertAlmostEqual(sum(phases.values()), recorded_ms, delta=0.01 + recorded_ms / 1000)

    def test_nothing_is_lost(self):
        self.assertEqual(set(self.process["self"]["losses"].values()), {0}, self.process["self"])
        # If learning takes long, few of the program's steps remain to compare the recorded ones
        # with. The simulated GPU has no data sheet, so there is no peak.
        self.assertLessEqual({row["what"] for row in self.process["unavailable"]},
                             {"recording overhead", "% of peak"}, self.process["unavailable"])


class Gpt2Trainer(Program, SimCase):
    script, package = "gpt2_trainer.py", "transformers"


class Resnet18(Program, SimCase):
    script, package = "resnet18.py", "torchvision"


class TimmVit(Program, SimCase):
    script, package = "timm_vit.py", "timm"


class LightningTrainer(Program, SimCase):
    script, package = "lightning_mlp.py", "lightning"


class NnTransformer(Program, SimCase):
    script = "nn_transformer.py"


class GradScaler(Program, SimCase):
    script = "grad_scaler.py"


if __name__ == "__main__":
    unittest.main()
