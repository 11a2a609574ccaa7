"""What the CPU does between the CUDA calls of a PyTorch program, as samples show it, against what
the program measured itself (scripts/host_work.py)."""
import json
import os
import statistics
import unittest

from sim_case import SimCase, report_of
from test_torch import HERE

SCRIPT = os.path.join(HERE, "scripts", "host_work.py")
STEPS, FIRST, RECORDED = 260, 40, 200
SCHEDULE = f"skip_first={FIRST - 2},wait=0,warmup=2,active={RECORDED},repeat=1"
POINTS = 5


class HostWork(SimCase):
    def sampled(self, workers):
        run = self.under_profrun([SCRIPT, str(STEPS), str(workers)], SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        (process,) = [p for p in report_of(run)["processes"] if not p.get("is_silent")]
        recorded = process["steps"]["recorded"]
        took = {name: statistics.mean(ms[recorded[0]:recorded[-1] + 1])
                for name, ms in json.loads(run.out.splitlines()[-1]).items()}
        return took, process

    def check(self, workers):
        took, process = self.sampled(workers)
        rows = process["host"]
        logged = sum(row["total_ms_per_step"] for row in rows if row["function"] == "log_metrics")
        loaded = sum(row["self_ms_per_step"] for row in rows if row["kind"] == "loader")
        samples = sum(row["samples"] for row in rows if row["function"] == "log_metrics")
        for name, ms in (("log", logged), ("load", loaded)):
            self.assertAlmostEqual(100 * ms / took["step"], 100 * took[name] / took["step"],
                                   delta=POINTS, msg=f"{name}: {ms} ms, took {took}")
        self.assertGreater(samples, 300)
        # Other programs may have the CPUs for longer than any cause. The program's own times
        # contain the waits for a CPU, the causes and savings do not.
        causes = [row for row in process["idle"] if row["cause"] != "contention"]
        waited = sum(row["ms_per_step"] for row in process["idle"]
                     if row["cause"] == "contention")
        least = 0.7 * (took["log"] - waited)
        idle = {row["cause"]: row for row in causes}
        self.assertEqual(causes[0]["cause"], "host")
        self.assertEqual(idle["host"]["function"], "log_metrics")
        self.assertGreater(idle["host"]["ms_per_step"], least)
        # The spread of steps on a busy machine may leave a second cause open.
        bound = process["bound"]
        self.assertIn("host", [bound["verdict"], *(bound.get("between") or [])])
        largest = process["advice"][0]
        self.assertEqual(largest["function"], "log_metrics")
        self.assertGreater(largest["expected_ms_per_step"], least)

    def test_without_workers(self):
        self.check(0)

    def test_with_workers(self):
        self.check(2)


if __name__ == "__main__":
    unittest.main()
