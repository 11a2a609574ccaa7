"""Anomaly detection that was left on, on the simulated GPU: the advice names it."""
import os
import unittest

from sim_case import SimCase, report_of
from test_torch import HERE

SCHEDULE = "skip_first=15,wait=0,warmup=2,active=3,repeat=1"
WORDS = "switch anomaly detection off"


class Anomaly(SimCase):
    def advice_of(self, name):
        script = os.path.join(HERE, "scripts", name)
        run = self.under_profrun([script], SCHEDULE, PROFSIM_KERNEL_US=30)
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        with open(script, encoding="utf-8") as file:
            planted = next(i for i, text in enumerate(file, 1) if "PLANTED" in text)
        return process["advice"], planted

    def test_it_is_named(self):
        advice, planted = self.advice_of("anomaly.py")
        (found,) = [row for row in advice if WORDS in row["what"]]
        self.assertEqual(found["line"], planted)
        self.assertGreater(found["expected_ms_per_step"], 0.2)
        self.assertFalse([row for row in advice if "keep the value on the GPU" in row["what"]])

    def test_hooks_of_the_user(self):
        advice, planted = self.advice_of("nan_hook.py")
        self.assertFalse([row for row in advice if WORDS in row["what"]])
        (found,) = [row for row in advice if "keep the value on the GPU" in row["what"]]
        self.assertEqual(found["line"], planted)


if __name__ == "__main__":
    unittest.main()
