"""Steps and GPU times of programs that replay CUDA graphs (test/graphs/captured.cu)."""
import json
import os
import re
import unittest

from harness import ROOT, Case, prog

SOURCE = os.path.join("test", "graphs", "captured.cu")


def line_of(pattern):
    """Returns the number of the first line of the source with this text."""
    with open(os.path.join(ROOT, SOURCE), encoding="utf-8") as file:
        return next(i + 1 for i, text in enumerate(file) if re.search(pattern, text))


class GraphSteps(Case):
    def process(self, scene, replays, **settings):
        run = self.profiled([prog("graphs/captured"), scene, str(replays)], **settings)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return run, process

    def test_captured_calls_are_no_steps(self):
        """50 captures of about 150 calls, all of which look alike, and 40 replays."""
        for schedule in ("always", "skip_first=10,wait=0,warmup=2,active=3,repeat=1"):
            with self.subTest(schedule):
                run, _ = self.process("many_graphs", 40, PROF_SCHEDULE=schedule)
                self.assertLessEqual(run.json["processes"][0]["steps"]["count"], 40)

    def test_a_captured_kernel_begins_no_step(self):
        run, _ = self.process("one_stream", 40, PROF_STEP="kernel:at")
        self.assertEqual(run.json["processes"][0]["steps"]["count"], 0, run.err)

    def test_replays_are_the_steps_and_have_gpu_times(self):
        """The program is over long before the steps are known: GPU timing begins again after the
        captures, while everything is still recorded."""
        for replays in (40, 150):
            with self.subTest(replays):
                run, process = self.process("one_stream", replays)
                self.assertEqual(run.json["processes"][0]["steps"]["count"], replays)
                self.assertEqual(process["steps"]["loop"]["line"],
                                 line_of(r"i < \(times \? times : replays\)"))
                self.assertEqual(run.trace_steps(), [12, 13, 14])
                self.assertEqual(process["completeness"]["graph_captured"],
                                 process["completeness"]["graph_kernels"])
                kernels = {k["name"]: k["per_step"] for k in process["kernels"]}
                self.assertEqual(sum(kernels.values()), 5, kernels)

    def test_why_there_are_no_gpu_times(self):
        run, process = self.process("one_stream", 1)
        self.assertEqual(process["kernels"], [])
        said = " ".join(run.err.split())
        self.assertIn("GPU timing was off while the program made CUDA graphs; "
                      "PROF_SCHEDULE=always keeps it on", said)
        _, process = self.process("one_stream", 1, PROF_SCHEDULE="always")
        self.assertEqual(sum(kernel["per_step"] for kernel in process["kernels"]), 5)

    def test_slow_launches_of_a_graph_load_no_code(self):
        """The time of a launch depends on the number of nodes. Only the first one loads code."""
        _, process = self.process("one_stream", 40, PROFSIM_LAUNCH_US="500")
        idle_ms = {row["cause"]: row["ms_per_step"] for row in process["idle"]}
        self.assertNotIn("module", idle_ms)
        # on a busy machine, other programs take CPU time while the CPU launches
        self.assertGreater(idle_ms["launch"] + idle_ms.get("contention", 0), 0.2)


if __name__ == "__main__":
    unittest.main()
