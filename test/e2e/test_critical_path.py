"""The critical path: of a program and of traces with known content, and of HTA's test traces."""
import json
import os
import unittest

import kineto
import trace
from harness import Case, prog

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")


class Path(Case):
    def report(self, path):
        run = self.tool("report", "--json", path)
        self.assertEqual((run.status, run.err), (0, ""))
        return json.loads(run.out)["processes"][0]

    def kinds(self, process):
        """ms per step by kind."""
        pct = sum(k["pct"] for k in process["critical_path_kinds"])
        self.assertAlmostEqual(pct, 100, delta=0.1)
        return {k["kind"]: k["ms_per_step"] for k in process["critical_path_kinds"]}


class Program(Path):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_ = cls().profiled([prog("critical"), "60"],
                                  ("--schedule", "skip_first=40,active=4,repeat=1"))
        cls.process = cls().report(cls.run_.folder)

    def runTest(self):
        pass

    def test_the_path_is_the_step(self):
        kinds = self.kinds(self.process)
        recorded = self.process["baseline"]["recorded_ms"]["mean"]
        self.assertAlmostEqual(sum(kinds.values()), recorded, delta=0.01 * recorded)

    def test_kernels_that_others_wait_for_are_on_it(self):
        kernels = {k["name"]: k["ms_per_step"] for k in self.process["critical_path"]
                   if k["kind"] == "kernel"}
        self.assertEqual(kernels.keys(), {"longest_5000us", "last_1000us"})
        self.assertAlmostEqual(kernels["longest_5000us"], 5, delta=0.05)
        self.assertAlmostEqual(kernels["last_1000us"], 1, delta=0.02)

    def test_the_sleep_is_on_it(self):
        kinds = self.kinds(self.process)
        self.assertGreater(kinds["cpu"], 2)
        rest = sum(kinds.values()) - kinds["cpu"] - kinds["kernel"]
        self.assertLess(rest, kinds["kernel"])

    def test_the_report_has_it(self):
        text = self.tool("report", self.run_.folder).out
        self.assertIn("Critical path by kind, per step", text)
        self.assertIn("longest_5000us", text[text.index("Critical path, per step"):])

    def test_the_trace_has_a_track_of_it(self):
        """The spans lie where the kernels are."""
        self.assertTrue(self.run_.traces())
        for path in self.run_.traces():
            t = trace.Trace(path)
            spans = {s.name: s for s in t.on("Critical path")}
            kernels = {s.name: s for s in t.on("Stream")}
            self.assertLessEqual({"CPU code", "kernel: longest_5000us", "kernel: last_1000us"},
                                 spans.keys())
            self.assertNotIn("kernel: short_100us", spans)
            for name in ("longest_5000us", "last_1000us"):
                span = spans["kernel: " + name]
                self.assertEqual((span.time, span.end), (kernels[name].time, kernels[name].end))


class Traces(Path):
    def test_a_step_that_the_cpu_makes(self):
        """Four launches of 5 us, 200 us apart, whose kernels take 20 us; then item()."""
        t = kineto.Trace()
        for i in range(4):
            at = 10000 + 1000 * i
            t.step(i, at, 1000)
            for k in range(4):
                t.operator("aten::add", at + 200 * k, 6)
                t.launch("k", at + 200 * k, at + 200 * k + 8, 20)
            t.item(at + 900, at + 916)
        path = t.write(os.path.join(self.base, "host.json"))
        kinds = self.kinds(self.report(path))
        self.assertAlmostEqual(sum(kinds.values()), 1, delta=1e-6)
        self.assertNotIn("kernel", kinds)
        self.assertGreater(kinds["cpu"] + kinds["call"], 0.98)
        self.assertRegex(self.tool("report", path).out, r"CPU code +aten::add +aten::add")

    def test_a_step_that_the_gpu_makes(self):
        """Nine kernels of 100 us, 2 us apart, launched at once; the last one is waited for."""
        t = kineto.Trace()
        for i in range(4):
            at = 10000 + 1000 * i
            t.step(i, at, 1000)
            for k in range(9):
                t.launch(f"k{k}", at + 10 + 6 * k, at + 20 + 102 * k, 100)
            t.call("cudaStreamSynchronize", at + 80, 862)
        p = self.report(t.write(os.path.join(self.base, "gpu.json")))
        kinds = self.kinds(p)
        self.assertEqual(kinds, {"kernel": 0.9, "gpu_delay": 0.016, "cpu": 0.068,
                                 "launch_delay": 0.005, "call": 0.005, "wait": 0.006})
        self.assertEqual({r["name"] for r in p["critical_path"] if r["kind"] == "kernel"},
                         {f"k{k}" for k in range(9)})

    def test_a_collective_is_communication(self):
        t = kineto.Trace()
        for i in range(4):
            at = 10000 + 1000 * i
            t.step(i, at, 1000)
            t.launch("k", at + 10, at + 20, 100)
            t.collective("allreduce", at + 40, at + 122, at + 822)
            t.call("cudaStreamSynchronize", at + 100, 730)
        kinds = self.kinds(self.report(t.write(os.path.join(self.base, "nccl.json"))))
        self.assertEqual((kinds["kernel"], kinds["communication"]), (0.1, 0.7))

    def test_gpu_time_of_hta_s_traces(self):
        """HTA finds 36 us of a kernel that an event is waited for, and nothing of the GPU in the
        steps of the other trace (its critical path of "ProfilerStep")."""
        kinds = self.kinds(self.report(os.path.join(
            PEERS, "critical_path__cuda_event_sync/event_sync_trace.json.gz")))
        self.assertEqual(kinds["kernel"], 0.036)
        kinds = self.kinds(self.report(os.path.join(
            PEERS, "amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz")))
        self.assertEqual(kinds.keys(), {"cpu", "call"})


if __name__ == "__main__":
    unittest.main()
