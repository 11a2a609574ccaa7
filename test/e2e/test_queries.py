"""Loops that ask over and over whether the GPU is done: what of them is kept, and that they are told as the waits they are."""
import json

from harness import EVERYTHING, Case, prog

NOT_READY = 600


class Queries(Case):
    def test_first_and_last_are_kept(self):
        run = self.preloaded([prog("loop"), "8", "polls"], **EVERYTHING)
        self.assertEqual((run.status, run.out), (0, "8 steps\n"), run.err)
        calls = [call for call in run.journal().calls() if call.category == "query"]
        self.assertEqual([(call.name, call.status) for call in calls],
                         [("cudaStreamQuery", NOT_READY), ("cudaEventQuery", NOT_READY), ("cudaEventQuery", 0)] * 8)
        self.assertGreater(min(call.detail for call in calls[2::3]), 20)

    def test_the_report_tells_of_a_wait(self):
        run = self.profiled([prog("loop"), "8", "polls"], PROF_STEP="kernel:first",
                            PROF_SCHEDULE="skip_first=2,wait=0,warmup=1,active=3,repeat=1")
        (process,) = json.loads(self.tool("report", run.folder, "--json").out)["processes"]
        (wait,) = [row for row in process["syncs"] if row["kind"] == "event"]
        self.assertEqual((wait["api"], wait["per_step"]), ("cudaEventQuery", 1))
        self.assertGreater(wait["blocked_ms_per_step"], 0.02)
