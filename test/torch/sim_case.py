"""Base of the tests of whole PyTorch programs on the simulated GPU: the interpreter, and runs with
and without profrun."""
import json
import os
import unittest

import test_torch
from at_exit import again
from harness import LAUNCHER, NO_OPENING, SIM, Case, environment  # noqa: F401

STEPS_OFF = 1  # a first or last iteration that differs from the others may not count
PRELOADED = " ".join(os.path.join(SIM, name)
                     for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))


class SimCase(Case):
    @classmethod
    def setUpClass(cls):
        if test_torch.ON_GPU:
            raise unittest.SkipTest("how long kernels take is set, on the simulated GPU only")
        cls.interpreter = test_torch.python()
        super().setUpClass()

    def alone(self, command, **settings):
        env = environment(LD_PRELOAD=PRELOADED, HF_HUB_OFFLINE=1, **settings)
        return again(lambda: self.execute([self.interpreter, *command], self.folder(), env,
                                          timeout=300))

    def under_profrun(self, command, schedule, *options, **settings):
        def run():
            folder = self.folder()
            line = [LAUNCHER, "--sim", "-o", folder, "--schedule", schedule, *options, "--",
                    self.interpreter, *command]
            return self.execute(line, folder, self.environment(HF_HUB_OFFLINE=1, **settings),
                                timeout=300)
        return again(run)


def report_of(run):
    with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
        return json.load(file)
