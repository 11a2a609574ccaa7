"""What of PyTorch runs on the simulated GPU (programs.py), alone and under profrun: a small program for each part, none may fail."""
import os
import unittest

from sim_case import SimCase
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


if __name__ == "__main__":
    unittest.main()
