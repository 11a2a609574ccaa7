"""PROF_SCHEDULE against torch.profiler.schedule itself: for random parameter sets, the action of
each of the first steps."""
import os
import subprocess
import tempfile
import unittest

from test_torch import BUILD, ROOT, python

SETS = 3000


class Schedule(unittest.TestCase):
    def test_random_parameters(self):
        for seed in (1, 2):
            with tempfile.NamedTemporaryFile("w", suffix=".tsv") as table, self.subTest(seed=seed):
                subprocess.run([python(), os.path.join(ROOT, "test/steps/gen_torch_schedule.py"),
                                "--random", str(SETS), str(seed)],
                               check=True, stdout=table)
                with open(table.name) as file:
                    self.assertGreater(sum(not line.startswith("#") for line in file), SETS * 0.8)
                done = subprocess.run([os.path.join(BUILD, "test/unit/test_schedule")], cwd=ROOT,
                                      capture_output=True, text=True,
                                      env={**os.environ, "PROFRUN_SCHEDULE_TABLE": table.name})
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
