"""Traces of torch.profiler without ProfilerStep marks, as those of inference servers: annotated
iterations, traces cut out of longer ones, CUDA graphs and the traces of their captures."""
import json
import os
import shutil
import unittest

import kineto
from test_foreign import Foreign

LAYERS = 24


def iteration(t, at, number, layers=LAYERS, kernel_us=20):
    """An annotated iteration of 2 ms: each layer launches two kernels in order, 40 us apart, and
    each kernel begins 5 us after its launch."""
    name = f"execute_{number}_context_0(sq0sk0)_generation_{number}(sq{number}sk{37 * number})"
    t.span("user_annotation", name, at, 2000)
    for layer in range(layers):
        begin = at + 20 + 80 * layer
        t.python("model.py(7): forward", begin, 75)
        t.launch("attention", begin + 5, begin + 10, kernel_us)
        t.launch("mlp", begin + 45, begin + 50, kernel_us)


class Annotated(Foreign):
    def test_iterations_are_the_annotations_that_contain_the_launches(self):
        t = kineto.Trace()
        for i in range(5):
            t.span("user_annotation", f"schedule step {i}", 1000 + 2500 * i - 100, 50)
            iteration(t, 1000 + 2500 * i, i + 8)
        p = self.process(t)
        self.assertEqual((p["steps"]["detector"], p["steps"]["count"]), ("annotation", 5))
        self.assertEqual(p["steps"]["annotation"], "execute_#_context_#")
        self.assertEqual(p["steps"]["confidence"], 1)
        self.assertAlmostEqual(p["baseline"]["step_ms"]["p50"], 2.5)
        self.assertEqual({k["name"]: k["per_step"] for k in p["kernels"]},
                         {"attention": LAYERS, "mlp": LAYERS})
        text = self.tool("report", self.write(t, "text.json")).out
        self.assertIn('each annotation "execute_#_context_#"', text)

    def test_names_may_differ_in_brackets(self):
        t = kineto.Trace()
        for i in range(6):
            iteration(t, 1000 + 2500 * i, 1)
            t.events[-5 * LAYERS - 1]["name"] = ["step[DECODE bs=32]", "step[EXTEND bs=2]"][i % 2]
        p = self.process(t)
        self.assertEqual((p["steps"]["count"], p["steps"]["annotation"]), (6, "step"))

    def test_names_may_begin_with_brackets(self):
        t = kineto.Trace()
        t.span("user_annotation", "[pl][profile]run_training_epoch", 990, 10100)
        for i in range(4):
            t.span("user_annotation", "[pl][profile]run_training_batch", 995 + 2500 * i, 2010)
            iteration(t, 1000 + 2500 * i, 1, layers=10)
            t.events[-5 * 10 - 1]["name"] = "[pl][module]model"
        p = self.process(t)
        self.assertEqual((p["steps"]["count"], p["steps"]["annotation"]),
                         (4, "[pl][profile]run_training_batch"))

    def test_a_part_of_an_iteration_is_no_step(self):
        """Only the forward pass, half of the launches, is annotated."""
        t = kineto.Trace()
        for i in range(5):
            at = 1000 + 2500 * i
            iteration(t, at, 1, layers=4)
            t.events[-5 * 4 - 1].update(name="forward", dur=170)
        self.assertNotEqual(self.process(t)["steps"]["detector"], "annotation")

    def test_layers_of_one_iteration_are_no_steps(self):
        t = kineto.Trace()
        iteration(t, 1000, 8)
        p = self.process(t)
        self.assertEqual(p["steps"]["detector"], "none")
        self.assertEqual({k["name"]: k["per_step"] for k in p["kernels"]}["mlp"], LAYERS)


class CutOut(Foreign):
    def late(self, wait_us=8000):
        """One iteration whose kernels of 100 us run long after it, when earlier work is done."""
        t = kineto.Trace()
        t.span("user_annotation", "execute_1", 1000, 2000)
        t.python("server.py(5): run", 1000, 2000)
        for i in range(20):
            t.launch("decode", 1100 + 50 * i, 1100 + wait_us + 101 * i, 100)
        return t

    def test_the_gpu_limits_what_it_alone_still_does(self):
        p = self.process(self.late())
        self.assertEqual(p["bound"]["verdict"], "gpu")
        self.assertLess(abs(p["replay"]["error_pct"]), 1)
        self.assertAlmostEqual(p["gpu"][0]["busy_ms_per_step"], 2.0)
        self.assertGreater(p["gpu"][0]["busy_pct"], 98)
        gpu = [s for s in p["bound"]["savings"] if s["resource"] == "gpu"]
        self.assertAlmostEqual(gpu[0]["ms_per_step"], 1.0, delta=0.1)

    def test_nothing_is_said_of_the_cpu_after_its_last_event(self):
        host = self.process(self.late())["host"]
        self.assertTrue(host)
        self.assertLess(sum(row["self_ms_per_step"] for row in host), 2.1)

    def test_the_critical_path_ends_with_the_gpu(self):
        path = {row["kind"]: row["ms_per_step"]
                for row in self.process(self.late())["critical_path_kinds"]}
        self.assertAlmostEqual(path["kernel"], 2.0)
        self.assertAlmostEqual(path["earlier"], 8.1, delta=0.02)
        self.assertLess(path.get("cpu", 0), 0.2)

    def test_work_of_earlier_steps_is_not_of_the_first_one(self):
        """The GPU is busy with earlier steps until the middle of the second of three steps."""
        t = kineto.Trace()
        t.correlation = 100
        for i in range(3):
            t.step(i, 1000 + 1000 * i, 1000)
            for k in range(4):
                t.launch("own", 1050 + 1000 * i + 10 * k, 2600 + 400 * i + 100 * k, 100)
        for k in range(16):
            t.gpu("kernel", "earlier", 1000 + 100 * k, 100, correlation=50 + k,
                  grid=[8, 1, 1], block=[128, 1, 1])
        p = self.process(t)
        self.assertEqual({k["name"]: k["per_step"] for k in p["kernels"]}, {"own": 4})
        use = {row["what"]: row["ms_per_step"] for row in p["gpu_use"]}
        self.assertAlmostEqual(use["work launched before the recorded steps"], 1.6 / 3, places=2)

    def test_a_first_wait_for_earlier_work_does_not_count(self):
        """The step waits 14 ms for earlier work; what is queued at its end takes 1 ms."""
        t = kineto.Trace()
        t.correlation = 100
        t.step(6, 1000, 30000)
        for k in range(14):
            t.gpu("kernel", "earlier", 1000 + 1000 * k, 1000, correlation=50 + k)
        t.call("cudaDeviceSynchronize", 1010, 13990)
        for k in range(17):
            t.launch("own", 15010 + 900 * k, 15020 + 1000 * k, 1000)
        p = self.process(t)
        self.assertLess(abs(p["replay"]["error_pct"]), 2)
        self.assertAlmostEqual(p["replay"]["measured_ms"], 30 - 13, delta=0.3)

    def test_unexplained_idle_time_gives_no_verdict(self):
        """A copy of four bytes blocks for 400 ms, for work that the trace does not have."""
        t = kineto.Trace()
        t.span("user_annotation", "step 1", 1000, 403000)
        t.launch("first", 1010, 1020, 5)
        t.call("cudaMemcpyAsync", 1100, 400000)
        t.gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 401090, 2, bytes=4)
        for i in range(20):
            t.launch("decode", 401200 + 50 * i, 401210 + 50 * i, 40)
        p = self.process(t)
        self.assertEqual(p["bound"]["verdict"], "unknown")
        self.assertIn("idle for 400.0 of 403.0 ms", p["bound"]["evidence"][0])

    def test_loading_code_is_no_launch_overhead(self):
        t = kineto.Trace()
        t.python("layers.py(3): main", 1000, 605000)
        for i in range(3):
            t.launch(f"kernel_{i}", 1100 + 201000 * i, 201000 + 201000 * i, 10)
            t.events[-2]["dur"] = 199800
        p = self.process(t)
        self.assertEqual(p["bound"]["verdict"], "unknown")
        self.assertIn("while code is loaded", p["bound"]["evidence"][0])
        launch = [s for s in p["bound"]["savings"] if s["resource"] == "launch"]
        self.assertLess(launch[0]["ms_per_step"], 10)


NODES = ["embed", "attention", "mlp", "attention", "mlp", "sample"]


def capture(t, at, kernels, named, line=30):
    """Captures a graph: its calls launch nothing."""
    t.span("user_annotation", "capture_8_FULL", at, 1000)
    t.call("cudaStreamBeginCapture", at + 10, 5)
    for i, kernel in enumerate(kernels):
        t.python(f"model.py({line + i}): layer_{i}", at + 20 + 50 * i, 40)
        shapes = {"Input Dims": [[8, 16], [16, 32]], "Input type": ["float", "float"]}
        t.operator("aten::mm" if kernel == "mlp" else "aten::" + kernel, at + 25 + 50 * i, 30,
                   **shapes if kernel == "mlp" else {})
        call = t.call("cudaLaunchKernel", at + 30 + 50 * i, 5)
        if named:
            call["args"]["kernel"] = kernel
    t.call("cudaStreamEndCapture", at + 900, 5)


def replay(t, at, kernels):
    t.call("cudaGraphLaunch", at, 20)
    for i, kernel in enumerate(kernels):
        t.gpu("kernel", kernel, at + 30 + 100 * i, 99)


class Graphs(Foreign):
    def lines(self, process):
        return {row["line"]: row["gpu_ms_per_step"] for row in process["lines"]
                if row["gpu_ms_per_step"] > 0}

    def replays(self, n=4, kernels=tuple(NODES)):
        t = kineto.Trace()
        for i in range(n):
            t.step(i, 1000 + 1000 * i, 1000)
            t.python("serve.py(9): decode", 1010 + 1000 * i, 100)
            replay(t, 1020 + 1000 * i, kernels)
        return t

    def folder(self):
        folder = os.path.join(self.base, "capture_traces")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder

    def joined(self, *captures, kernels=tuple(NODES)):
        folder = self.folder()
        for i, t in enumerate(captures):
            t.write(os.path.join(folder, f"capture_{i}.json.gz"))
        with open(os.path.join(folder, "execution_details.json"), "w", encoding="utf-8") as file:
            json.dump([{"file": "capture_0.json.gz", "batch_size": 8}], file)
        return self.process(self.replays(kernels=kernels))

    def test_captured_calls_are_no_launches(self):
        t = kineto.Trace()
        t.launch("eager", 900, 910, 10)
        capture(t, 1000, NODES, False)
        p = self.process(t)
        self.assertEqual((p["completeness"]["launches"], p["completeness"]["captured"]), (1, 1))

    def test_nodes_get_the_lines_of_a_capture_trace(self):
        for named in (True, False):
            with self.subTest(named=named):
                t, other = kineto.Trace(), kineto.Trace()
                capture(other, 500, NODES[:3], named, 70)
                capture(t, 1000, NODES, named)
                p = self.joined(other, t)
                self.assertEqual(self.lines(p), {30 + i: 0.099 for i in range(6)})
                operators = {o["name"]: o["gpu_ms_per_step"] for o in p["operators"]}
                self.assertEqual(operators, {"aten::embed": 0.099, "aten::attention": 0.198,
                                             "aten::mm": 0.198, "aten::sample": 0.099})
                shape, = p["shapes"]
                self.assertEqual((shape["shape"], shape["per_step"], shape["flops_per_step"]),
                                 ("8x16 16x32", 2, 2 * 2 * 8 * 16 * 32))
                self.assertEqual((p["completeness"]["graph_kernels"],
                                  p["completeness"]["graph_captured"]), (24, 24))

    def test_captures_for_several_batches_have_the_same_lines(self):
        """Which batch a replay is of is not known, so its arithmetic is not."""
        small, large = kineto.Trace(), kineto.Trace()
        capture(small, 1000, NODES, True)
        capture(large, 1000, NODES, True)
        for event in large.events:
            if "Input Dims" in event["args"]:
                event["args"]["Input Dims"] = [[16, 16], [16, 32]]
        p = self.joined(small, large)
        self.assertEqual(sorted(self.lines(p)), list(range(30, 36)))
        self.assertEqual(p["shapes"], [])

    def test_two_captures_that_fit_are_not_guessed(self):
        one, other = kineto.Trace(), kineto.Trace()
        capture(one, 1000, NODES, False)
        capture(other, 1000, NODES, False, 70)
        self.assertEqual(sorted(self.lines(self.joined(one, other))), [9])

    def test_a_capture_in_the_trace_itself_counts(self):
        t = kineto.Trace()
        capture(t, 1000, NODES, False)
        for i in range(4):
            replay(t, 3000 + 1000 * i, NODES)
        self.assertEqual(sorted(self.lines(self.process(t))), list(range(30, 36)))

    def test_a_recorder_may_have_lost_a_node(self):
        kernels = [f"kernel_{i}" for i in range(20)]
        t = kineto.Trace()
        capture(t, 1000, kernels[:15], True)
        for i, kernel in enumerate(kernels[15:]):
            t.python(f"model.py({45 + i}): layer", 1770 + 20 * i, 19)
            t.call("cudaLaunchKernel", 1775 + 20 * i, 5)["args"]["kernel"] = kernel
        p = self.joined(t, kernels=kernels[:7] + kernels[8:])
        self.assertEqual(sorted(self.lines(p)), [30 + i for i in range(20) if i != 7])

    def test_another_graph_s_capture_is_not_taken(self):
        t = kineto.Trace()
        capture(t, 1000, NODES[:-1] + ["other"], True)
        p = self.joined(t)
        self.assertEqual(sorted(self.lines(p)), [9])
        self.assertEqual(p["completeness"]["graph_captured"], 0)
        self.assertIn("capture_traces", p["completeness"]["graph_why"])

    def test_an_unreadable_capture_trace_is_said(self):
        with open(os.path.join(self.folder(), "cut.json"), "w", encoding="utf-8") as file:
            file.write("{")
        p = self.process(self.replays())
        self.assertIn("1 file in capture_traces could not be read",
                      p["completeness"]["graph_why"])


if __name__ == "__main__":
    unittest.main()
