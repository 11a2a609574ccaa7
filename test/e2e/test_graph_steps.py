"""Steps of programs that replay CUDA graphs (test/graphs/captured.cu)."""
import unittest

from harness import Case, prog


class GraphSteps(Case):
    def count(self, scene, replays, **settings):
        run = self.profiled([prog("graphs/captured"), scene, str(replays)], **settings)
        self.assertEqual(run.status, 0, run.err)
        return run.json["processes"][0]["steps"]["count"]

    def test_captured_calls_are_no_steps(self):
        """50 captures of about 150 calls, all of which look alike, and 40 replays."""
        for schedule in ("always", "skip_first=10,wait=0,warmup=2,active=3,repeat=1"):
            with self.subTest(schedule):
                self.assertLessEqual(self.count("many_graphs", 40, PROF_SCHEDULE=schedule), 40)

    def test_a_captured_kernel_begins_no_step(self):
        self.assertEqual(self.count("one_stream", 40, PROF_STEP="kernel:at"), 0)


if __name__ == "__main__":
    unittest.main()
