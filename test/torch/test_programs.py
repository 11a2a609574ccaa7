"""What of PyTorch runs on the simulated GPU (programs.py), alone and under profrun: one small
program per part, all must pass."""
import os
import unittest

from sim_case import SimCase, report_of
from test_torch import HERE

PROGRAMS = os.path.join(HERE, "programs.py")


class Programs(SimCase):
    def check(self, run):
        lines = [line for line in run.out.splitlines() if line.startswith(("ok ", "not ok "))]
        self.assertGreater(len(lines), 35, run.err)
        self.assertEqual([line for line in lines if line.startswith("not ok")], [])
        self.assertEqual(run.status, 0, run.err)

    def test_alone(self):
        self.check(self.alone(["-W", "ignore", PROGRAMS]))

    def test_recorded(self):
        self.check(self.under_profrun(["-W", "ignore", PROGRAMS], "always", "--quiet"))

    def test_a_decoder_gets_its_window(self):
        """Both a token and a request can be a step."""
        script = os.path.join(HERE, "scripts", "decode.py")
        run = self.under_profrun([script, "30"], "skip_first=10,wait=0,warmup=2,active=3,repeat=1",
                                 PROFSIM_KERNEL_US=20)
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        self.assertGreaterEqual(len(process["steps"]["recorded"]), 3, process["steps"])
        self.assertEqual(len(process["gpu"]), 1)
        self.assertGreater(process["gpu"][0]["kernels_per_step"], 20)
        with open(script, encoding="utf-8") as file:
            planted = [number for number, text in enumerate(file, 1) if "PLANTED" in text]
        self.assertEqual([row["line"] for row in process["syncs"]], planted)


if __name__ == "__main__":
    unittest.main()
