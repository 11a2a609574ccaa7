"""Which lines the report names if a framework's loop makes the steps, on the simulated GPU. The
framework is one that no table has heard of (frameworks/site-packages/minitrainer.py)."""
import os
import unittest

from sim_case import SimCase, report_of
from test_torch import HERE

SCRIPTS = os.path.join(HERE, "frameworks")
PACKAGES = os.path.join(SCRIPTS, "site-packages")
SCHEDULE = "skip_first=15,wait=0,warmup=2,active=3,repeat=1"


def line_with(script, comment):
    with open(os.path.join(SCRIPTS, script), encoding="utf-8") as file:
        return next(number for number, text in enumerate(file, 1) if f"# {comment}" in text)


class Lines(SimCase):
    def process(self, script):
        run = self.under_profrun([os.path.join(SCRIPTS, script)], SCHEDULE,
                                 PYTHONPATH=PACKAGES, PROFSIM_KERNEL_US=20)
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        return process

    @staticmethod
    def launches(process):
        """{(file, function): (launches, modules)}"""
        rows = {}
        for row in process["lines"]:
            key = os.path.basename(row["file"] or ""), row["function"].split(".")[-1]
            number, modules = rows.get(key, (0, set()))
            rows[key] = number + row["launches_per_step"], modules | {row["module"]}
        return rows

    def test_framework_makes_every_launch(self):
        process = self.process("plain.py")
        rows = self.launches(process)
        self.assertEqual({file for file, _ in rows}, {"minitrainer.py"}, rows)
        self.assertGreaterEqual(rows.keys(), {("minitrainer.py", name) for name in
                                              ("forward", "train_step", "compute_loss", "run")})
        lines = {row["function"]: row for row in process["lines"]}
        self.assertEqual(lines["Block.forward"]["called_from"]["file"],
                         os.path.join(SCRIPTS, "plain.py"))
        _, modules = rows["minitrainer.py", "forward"]
        self.assertIn("Net.Block", modules)
        self.assertIn("Net.Block.Linear", modules)

    def test_framework_calls_the_users_code(self):
        process = self.process("override.py")
        lines = {(os.path.basename(row["file"]), row["line"]): row for row in process["lines"]}
        for comment in ("data", "model", "loss"):
            row = lines.get(("override.py", line_with("override.py", comment)))
            self.assertIsNotNone(row, (comment, sorted(lines)))
            self.assertNotIn("called_from", row)
        model = lines["override.py", line_with("override.py", "model")]
        self.assertEqual(model["module"], "Net.Block")
        started = line_with("override.py", "model") + 6
        self.assertFalse([key for key in lines if key[0] == "override.py" and key[1] > started],
                         sorted(lines))

    def test_loop_of_the_user(self):
        process = self.process("users_loop.py")
        lines = {(os.path.basename(row["file"]), row["line"]): row for row in process["lines"]}
        self.assertEqual(set(lines), {("users_loop.py", line_with("users_loop.py", comment))
                                      for comment in ("model", "read")})


if __name__ == "__main__":
    unittest.main()
