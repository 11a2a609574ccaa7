"""Jobs that run for long: what recording costs, and that memory, disk and files stay bounded."""
import json
import os
import unittest

from harness import Case, prog

WINDOWS = "skip_first=5,wait=15,warmup=1,active=3,repeat=0"


class Long(Case):
    def loop(self, steps, pause_us=0, options=(), **settings):
        run = self.profiled([prog("loop"), str(steps), "plain", str(pause_us)], options, **{"PROF_STEP": "kernel:first", **settings})
        self.assertEqual((run.status, run.out), (0, f"{steps} steps\n"), run.err)
        return run

    def report(self, run):
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        return process

    def test_what_recording_cost(self):
        run = self.loop(200, 300, PROF_SCHEDULE=WINDOWS)
        own = self.report(run)["self"]
        low, high = own["overhead_ci"]
        self.assertLessEqual(low, own["overhead_pct"])
        self.assertLessEqual(own["overhead_pct"], high)
        self.assertIsInstance(own["ns_per_call"], float)
        in_run_json = run.json["processes"][0]["self"]
        self.assertEqual((in_run_json["overhead_pct"], in_run_json["overhead_ci"]), (own["overhead_pct"], own["overhead_ci"]))
        self.assertNotIn("what recording cost", [gap["what"] for gap in self.report(run)["cannot_say"]])

    def test_what_recording_cost_cannot_be_said(self):
        report = self.report(self.loop(30, PROF_SCHEDULE="always"))
        self.assertEqual([report["self"][name] for name in ("overhead_pct", "overhead_ci", "ns_per_call")], [None] * 3)
        (why,) = [gap["why"] for gap in report["cannot_say"] if gap["what"] == "what recording cost"]
        self.assertIn("29 recorded, 0 others", why)


if __name__ == "__main__":
    unittest.main()
