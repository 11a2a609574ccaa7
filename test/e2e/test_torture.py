"""The short form of `make torture`: a part of each group of test/torture, with a fixed seed."""
import os
import re
import subprocess
import sys
import unittest

from harness import ROOT

SEED = 1


class Torture(unittest.TestCase):
    def test_short_form(self):
        run = os.path.join(ROOT, "test", "torture", "run.py")
        done = subprocess.run([sys.executable, run, "--short", "--seed", str(SEED)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        print(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        figures = re.search(rf"^torture: seed {SEED}, (\d+) runs, 0 failures, 0 not run$",
                            done.stdout, re.MULTILINE)
        self.assertGreater(int(figures.group(1)), 50, done.stdout)
        missing = re.findall("^missing: (.*)", done.stdout, re.MULTILINE)
        if missing:
            self.skipTest("the rest passed; missing: " + ", ".join(missing))


if __name__ == "__main__":
    unittest.main()
