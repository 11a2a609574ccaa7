"""Loops that query until the GPU is done: what is recorded, and that they count as waits."""
import json
from statistics import median

from harness import EVERYTHING, Case, prog
from trace import Trace


class Queries(Case):
    def test_number_and_duration_of_queries(self):
        run = self.preloaded([prog("loop"), "8", "polls"], **EVERYTHING)
        self.assertEqual((run.status, run.out), (0, "8 steps\n"), run.err)
        calls = [call for call in run.journal().calls() if call.category == "query"]
        self.assertEqual([(call.name, call.status) for call in calls], [("cudaEventQuery", 0)] * 8)
        self.assertGreater(min(call.detail for call in calls), 1)
        self.assertGreater(median(call.detail for call in calls), 20)
        # of the kernel's 50 ms: on a busy machine the first query is late now and then
        journal = run.journal()
        took_ns = [(call.seq << 10) * journal.ns_per_tick() for call in calls]
        self.assertGreater(median(took_ns), 30e6)

    def test_the_report_has_a_wait(self):
        run = self.profiled([prog("loop"), "8", "polls"], PROF_STEP="kernel:first",
                            PROF_SCHEDULE="skip_first=2,wait=0,warmup=1,active=3,repeat=1")
        (process,) = json.loads(self.tool("report", run.folder, "--json").out)["processes"]
        (wait,) = [row for row in process["syncs"] if row["kind"] == "event"]
        self.assertEqual((wait["api"], wait["per_step"]), ("cudaEventQuery", 1))
        self.assertGreater(wait["blocked_ms_per_step"], 30)

    def test_the_trace_shows_the_loop(self):
        run = self.profiled([prog("loop"), "4", "polls"], **EVERYTHING)
        (path,) = run.traces()
        loops = [call for call in Trace(path).slices if call.name == "cudaEventQuery"]
        self.assertEqual(len(loops), 4)
        self.assertGreater(median(loop.end - loop.time for loop in loops), 30e6)
        self.assertGreater(median(loop.args.get("said_not_ready", 0) for loop in loops), 20)

    def test_a_loop_that_works_between_queries_is_no_wait(self):
        run = self.profiled([prog("loop"), "4", "polls", "1000"], **EVERYTHING)
        (path,) = run.traces()
        queries = [call for call in Trace(path).slices if call.name == "cudaEventQuery"]
        self.assertEqual(len(queries), 4)
        for query in queries:
            self.assertLess(query.end - query.time, 25e6)
            self.assertNotIn("said_not_ready", query.args)
