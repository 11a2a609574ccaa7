"""Compares decoded bytecode with Python's own `dis`, in every CPython here.

test/prog/python_flow.py has the cases. For a missing interpreter a skip says so.
"""
import os
import subprocess
import unittest

from harness import BUILD, ROOT
from test_python_frames import INTERPRETERS

DECODER = os.path.join(BUILD, "test/prog/python_flow")
PROGRAM = os.path.join(ROOT, "test/prog/python_flow.py")


class Flow(unittest.TestCase):
    def check(self, minor, *cases):
        for case in cases:
            for version, path in INTERPRETERS[minor]:
                with self.subTest(version=version, case=case):
                    child = subprocess.run([path, PROGRAM, DECODER, case], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, timeout=300,
                                           universal_newlines=True)
                    self.assertEqual((child.returncode, child.stderr), (0, ""), child.stdout)
                    self.assertTrue(child.stdout.startswith("ok"), child.stdout)


def add(minor):
    number = int(minor.rstrip("t").split(".")[1])
    cases = ["library"] + ["specialized"] * (number >= 11) + ["instrumented"] * (number >= 12)

    @unittest.skipUnless(minor in INTERPRETERS, f"no Python {minor} here")
    def test(self):
        self.check(minor, *cases)
    setattr(Flow, "test_" + minor.replace(".", "_"), test)


for version in [f"3.{minor}" for minor in range(8, 16)] + ["3.13t", "3.14t", "3.15t"]:
    add(version)

if __name__ == "__main__":
    unittest.main()
