"""What operators launch: the time until their GPU work begins, and the sequences of their work."""
import collections
import gzip
import json
import os
import unittest

import kineto
from harness import Case

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers/critical_path__simple_add")
# HTA counts these as GPU work
WAITS = "Stream Wait Event", "Stream Sync", "Context Sync", "Event Sync"


class Runs(Case):
    def process(self, path):
        run = self.tool("report", "--json", path)
        self.assertEqual((run.status, run.err), (0, ""))
        return json.loads(run.out)["processes"][0]

    def trace(self):
        """Three steps of: two linear layers, of which the second one launches a third kernel, and a
        backward operator that launches the same kernel twice through two inner operators."""
        t = kineto.Trace()
        for i in range(3):
            at = 10000 + 2000 * i
            t.step(i, at, 2000)
            for k in range(2):
                begin = at + 300 * k
                t.operator("aten::linear", begin, 100)
                t.operator("aten::addmm", begin + 10, 80)
                t.launch("gemm", begin + 20, begin + 120, 40)
                t.launch("splitk", begin + 40, begin + 160, 10)
                if k:
                    t.launch("bias", begin + 60, begin + 170, 10)
            t.operator(kineto.ENGINE + "AddmmBackward0", at + 700, 200)
            t.operator("AddmmBackward0", at + 710, 180)
            for k in range(2):
                t.operator("aten::mm", at + 720 + 80 * k, 60)
                t.launch("gemm_backward", at + 730 + 80 * k, at + 1000 + 100 * k, 100)
        return t.write(os.path.join(self.base, "host_1.123.pt.trace.json"))

    def test_sequences_are_those_of_the_innermost_operator_with_all_the_work(self):
        rows = {(s["operator"], tuple(s["kernels"])): s
                for s in self.process(self.trace())["kernel_sequences"]}
        self.assertEqual(rows.keys(), {
            ("aten::addmm", ("gemm", "splitk")), ("aten::addmm", ("gemm", "splitk", "bias")),
            ("AddmmBackward0", ("gemm_backward", "gemm_backward"))})
        row = rows["aten::addmm", ("gemm", "splitk", "bias")]
        self.assertEqual((row["per_step"], row["gpu_ms_per_step"], row["host_ms_per_step"]),
                         (1, 0.06, 0.08))
        row = rows["AddmmBackward0", ("gemm_backward", "gemm_backward")]
        self.assertEqual((row["per_step"], row["gpu_ms_per_step"], row["host_ms_per_step"]),
                         (1, 0.2, 0.18))

    def test_the_first_kernels_of_a_long_sequence_are_named(self):
        """40 kernels, and the same with another last one."""
        t = kineto.Trace()
        for i in range(3):
            for k in range(2):
                at = 10000 + 2000 * i + 1000 * k
                if not k:
                    t.step(i, at, 2000)
                t.operator("CompiledFunction", at, 900)
                for n in range(40):
                    last = f"last{k}" if n == 39 else "k"
                    t.launch(last, at + 10 + 20 * n, at + 16 + 20 * n, 10)
        path = t.write(os.path.join(self.base, "trace.json"))
        self.assertEqual([(s["n_kernels"], s["kernels"], s["per_step"])
                          for s in self.process(path)["kernel_sequences"]],
                         [(40, ["k"] * 32, 1)] * 2)
        self.assertIn("k x32 > ...", self.tool("report", path).out)

    def test_delays_are_those_of_the_first_launch(self):
        rows = {d["name"]: d for d in self.process(self.trace())["operator_delays"]}
        self.assertEqual(rows.keys(), {"aten::addmm", "aten::mm"})
        self.assertEqual(rows["aten::addmm"], {
            "name": "aten::addmm", "per_step": 2, "to_launch_us": 10, "launch_to_work_us": 100,
            "to_work_us": 110})
        row = rows["aten::mm"]  # 270 and 290 us after their launches
        self.assertEqual((row["per_step"], row["to_launch_us"], row["launch_to_work_us"]),
                         (2, 10, 280))

    def test_the_text_has_both_below_the_first_screen(self):
        run = self.tool("report", self.trace())
        first, *rest = run.out.split("Operators until their GPU work begins, per step")
        self.assertNotIn("gemm_backward x2", first)
        self.assertRegex(rest[0], r"\n +2 +10 +100 +110 +aten::addmm\n")
        self.assertIn("gemm_backward x2", rest[0])
        self.assertIn("gemm > splitk > bias", rest[0])

    def test_hta_has_the_same_sequences_and_delays(self):
        """HTA's results come from its own code (peers/README.md). The begin of a run is that of its
        first kernel there, so operators whose runs begin with a memset differ."""
        with gzip.open(os.path.join(PEER, "hta.operators.json.gz")) as file:
            theirs = json.load(file)
        p = self.process(os.path.join(PEER, "benchmark_result_493459_1694039959_trace.json.gz"))
        ours = {(s["operator"], *s["kernels"]): s for s in p["kernel_sequences"]}
        n = 0
        for rows in theirs["frequent_cuda_kernel_sequences"].values():
            groups = collections.defaultdict(list)
            for row in rows:
                names = row["pattern"].split("|")
                groups[tuple(n for n in names if n not in WAITS)].append(row)
            for key, group in groups.items():
                with self.subTest(key=key):
                    row, n = ours[key], n + 1
                    self.assertEqual(row["per_step"], sum(r["count"] for r in group))
                    self.assertAlmostEqual(row["host_ms_per_step"] * 1000,
                                           sum(r["CPU op duration (us)"] for r in group), delta=0.1)
                    if not any(wait in r["pattern"] for wait in WAITS for r in group):
                        self.assertAlmostEqual(row["gpu_ms_per_step"] * 1000,
                                               sum(r["GPU kernel duration (us)"] for r in group),
                                               delta=0.1)
        self.assertEqual(n, 10)
        delays = {d["name"]: d for d in p["operator_delays"]}
        groups = collections.defaultdict(list)
        for row in theirs["aten_op_kernels_and_delay"]:
            groups[row["aten_op_name"]].append(row)
        with_memsets = {"aten::addmm", "aten::cudnn_convolution"}
        self.assertEqual(groups.keys() - delays.keys(), set())
        for name in groups.keys() - with_memsets:
            with self.subTest(name=name):
                (row,) = groups[name]
                self.assertEqual(delays[name]["per_step"], row["occurrence_count"])
                self.assertAlmostEqual(delays[name]["to_launch_us"],
                                       row["avg_aten_op_launch_delay"], delta=0.001)
                self.assertAlmostEqual(delays[name]["launch_to_work_us"],
                                       row["avg_runtime_delay"], delta=0.001)


if __name__ == "__main__":
    unittest.main()
