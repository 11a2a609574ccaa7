"""Traces of torch.profiler: read, analyzed, exported, refused."""
import glob
import gzip
import json
import os
import random
import re
import unittest

import kineto
from harness import Case
from test_compat import expected, read
from trace import Trace


class Foreign(Case):
    def write(self, trace, name="host_1.123.pt.trace.json"):
        return trace.write(os.path.join(self.base, name))

    def report(self, path):
        run = self.tool("report", "--json", path)
        self.assertEqual((run.status, run.err), (0, ""))
        return json.loads(run.out)

    def process(self, trace):
        return self.report(self.write(trace))["processes"][0]


class Figures(Foreign):
    def test_steps_kernels_and_operators_are_those_of_the_trace(self):
        p = self.process(kineto.training())
        self.assertEqual(p["steps"]["recorded"], [5, 6, 7, 8])
        self.assertAlmostEqual(p["baseline"]["step_ms"]["mean"], 10)
        kernels = {k["name"]: (k["per_step"], k["gpu_ms_per_step"]) for k in p["kernels"]}
        self.assertEqual(kernels, {"gemm": (1, 2), "relu": (1, 2), "gemm_backward": (1, 1),
                                   "multi_tensor_apply": (1, 0.1)})
        operators = {o["name"]: o for o in p["operators"]}
        self.assertEqual(operators["aten::linear"]["per_step"], 1)
        self.assertAlmostEqual(operators["aten::linear"]["host_ms_per_step"], 0.08)
        self.assertAlmostEqual(operators["aten::linear"]["self_host_ms_per_step"], 0.01)
        self.assertAlmostEqual(operators["aten::linear"]["gpu_ms_per_step"], 2)
        self.assertAlmostEqual(operators["aten::linear"]["self_gpu_ms_per_step"], 0)
        self.assertAlmostEqual(p["gpu"][0]["busy_ms_per_step"], 5.102)
        self.assertEqual(p["completeness"]["launches"], 16)
        self.assertEqual(p["completeness"]["captured"], 16)

    def test_an_unchanged_replay_takes_as_long(self):
        self.assertLess(abs(self.process(kineto.training())["replay"]["error_pct"]), 1)

    def test_the_line_that_reads_a_value_is_named(self):
        p = self.process(kineto.training())
        sync = p["syncs"][0]
        self.assertEqual((sync["file"], sync["line"], sync["kind"]), ("train.py", 30, "item"))
        self.assertAlmostEqual(sync["blocked_ms_per_step"], 4.375, places=2)

    def test_data_loading_is_shown_only_with_a_loader(self):
        causes = {i["cause"]: i["ms_per_step"] for i in self.process(kineto.training())["idle"]}
        self.assertAlmostEqual(causes["input"], 3, delta=0.3)
        without = self.process(kineto.training(load_us=0))
        self.assertNotIn("input", [i["cause"] for i in without["idle"]])

    def test_phases_come_from_frames_annotations_and_the_engine_s_thread(self):
        for stacks in (True, False):
            with self.subTest(stacks=stacks):
                phases = {x["name"]: x["gpu_ms_per_step"]
                          for x in self.process(kineto.training(stacks=stacks))["phases"]}
                self.assertAlmostEqual(phases["backward"], 1)
                self.assertAlmostEqual(phases["optimizer"], 0.1)
                self.assertAlmostEqual(phases["forward"], 4, delta=0.01)

    def test_modules_are_those_of_the_trace(self):
        run = self.tool("report", self.write(kineto.training()))
        self.assertRegex(run.out, r"\n  Net_0.Linear_0 +1 +2\.000")

    def test_time_by_what_runs_at_once_adds_up(self):
        """Per step of 1,000 us: 400 us computation, 300 us communication of which 200 us at the
        same time, and a copy of 100 us at the end of the communication."""
        t = kineto.Trace()
        for i in range(3):
            at = 10000 + 1000 * i
            t.step(i, at, 1000)
            t.launch("gemm", at + 10, at + 100, 400)
            t.launch("ncclDevKernel_AllReduce_Sum_f32", at + 20, at + 300, 300)
            t.events[-1]["args"]["stream"] = t.events[-1]["tid"] = 8
            t.call("cudaMemcpyAsync", at + 30, 15)
            t.gpu("gpu_memcpy", "Memcpy DtoD (Device -> Device)", at + 550, 100, bytes=4096)
        p = self.process(t)
        use = {row["what"]: (row["ms_per_step"], row["pct"]) for row in p["gpu_use"]}
        self.assertEqual(use, {"computation": (0.2, 20), "computation + communication": (0.2, 20),
                               "communication": (0.05, 5), "communication + copies": (0.05, 5),
                               "copies": (0.05, 5)})
        self.assertAlmostEqual(sum(ms for ms, _ in use.values()), p["gpu"][0]["busy_ms_per_step"])
        self.assertAlmostEqual(p["gpu"][0]["hidden_communication_pct"], 66.67)

    def test_kernels_use_multiprocessors(self):
        """Per step of 1,000 us, on an H100 with 132 multiprocessors: 400 us with 33 blocks, 200 us
        of these with 165 blocks of another stream at the same time. 1,024 threads fit twice."""
        for has_device in (True, False):
            t = kineto.Trace()
            if not has_device:
                del t.head["deviceProperties"][0]["numSms"]
            for i in range(3):
                at = 10000 + 1000 * i
                t.step(i, at, 1000)
                t.launch("small", at + 10, at + 100, 400)
                t.events[-1]["args"].update(grid=[33, 1, 1], block=[512, 1, 1])
                t.launch("large", at + 20, at + 200, 200)
                t.events[-1]["args"].update(grid=[5, 33, 1], block=[1024, 1, 1], stream=8)
                t.events[-1]["tid"] = 8
            with self.subTest(has_device=has_device):
                p = self.process(t)
                found = {k["name"]: k["occupancy_pct"] for k in p["kernels"]}
                found[""] = p["gpu"][0]["occupancy_pct"]
                if not has_device:
                    self.assertEqual(found, {"small": None, "large": None, "": None})
                    self.assertIsNone(p["gpu"][0]["sm_efficiency_pct"])
                    continue
                small, large = 100 * 33 / 132 * 512 / 2048, 100 * 165 / 132 * 1024 / 2048
                self.assertAlmostEqual(found["small"], small, delta=0.02)
                self.assertAlmostEqual(found["large"], large, delta=0.02)
                self.assertAlmostEqual(found[""], (400 * small + 200 * large) / 600, delta=0.02)
                self.assertAlmostEqual(p["gpu"][0]["sm_efficiency_pct"],
                                       100 * (200 * 33 / 132 + 200) / 1000, delta=0.01)

    def test_a_kernel_that_runs_into_the_next_step_is_known(self):
        """It was launched in a recorded step, so it is no work of before the recorded steps."""
        t = kineto.Trace()
        for i in range(3):
            t.step(i, 1000 + 1000 * i, 1000)
        t.launch("long", 1010, 1500, 1000)
        t.events[-1]["args"]["grid"] = [132, 1, 1]
        for ts, begin, us in ((2010, 2600, 100), (3010, 3500, 500)):
            t.launch("half", ts, begin, us)
            t.events[-1]["args"]["grid"] = [66, 1, 1]
        p = self.process(t)
        self.assertAlmostEqual(p["gpu"][0]["busy_ms_per_step"], 1.6 / 3, places=4)
        self.assertAlmostEqual(p["gpu"][0]["sm_efficiency_pct"], 100 * 1300 / 3000, places=2)
        self.assertEqual([(row["what"], row["ms_per_step"]) for row in p["gpu_use"]],
                         [("computation", 0.5333)])

    def test_the_plugin_has_the_same_use_of_multiprocessors(self):
        """The traces have whole percents, and 0 for kernels with much shared memory. The plugin's
        steps are longer: they last until their GPU work has ended."""
        found = expected(".tensorboard.json")
        self.assertIn("critical_path__simple_add", found)
        n = 0
        for name, (trace, result) in found.items():
            theirs = read(result)
            if "est_sm_efficiency" not in (theirs.get("gpu") or {}).get("0", {}):
                continue
            with self.subTest(trace=name):
                p = self.report(trace)["processes"][0]
                sm = p["gpu"][0]["sm_efficiency_pct"]
                if sm is not None:
                    n += 1
                    self.assertAlmostEqual(sm, 100 * theirs["gpu"]["0"]["est_sm_efficiency"],
                                           delta=0.02 + 0.02 * sm)
                ours = {k["name"]: k["occupancy_pct"] for k in p["kernels"]}
                for row in theirs["kernel_table_top10"] or []:
                    if row[-1] and ours.get(row[0]) is not None:
                        self.assertAlmostEqual(ours[row[0]], row[-1], delta=0.6, msg=row[0])
        self.assertGreaterEqual(n, 1)

    def test_launches_have_their_call_and_delay(self):
        """Each call takes 5 us. The first kernel begins 85 us later, the second one at once."""
        t = kineto.Trace()
        for i in range(3):
            at = 10000 + 1000 * i
            t.step(i, at, 1000)
            t.launch("long", at + 10, at + 100, 400)
            t.launch("short", at + 600, at + 603, 2)
        p = self.process(t)
        (row,) = p["launches"]
        self.assertEqual((row["name"], row["per_step"], row["short_pct"]),
                         ("cudaLaunchKernel", 2, 50))
        self.assertEqual((row["call_us"]["mean"], row["call_us"]["n"]), (5, 6))
        self.assertEqual((row["delay_us"]["min"], row["delay_us"]["max"]), (0, 85))
        (queue,) = p["queues"]
        self.assertEqual((queue["per_step"], queue["max_length"]), (2, 1))
        self.assertAlmostEqual(queue["wait_us"], (90 + 3) / 2)
        self.assertAlmostEqual(queue["mean_length"], 3 * 93 / 2593, places=2)

    def test_launches_wait_in_their_stream(self):
        """Four launches while the first kernel runs: three wait."""
        t = kineto.Trace()
        t.step(0, 1000, 1000)
        for i in range(4):
            t.launch("k", 1010 + 10 * i, 1012 + 200 * i, 200)
        t.step(1, 2000, 1000)
        t.launch("k", 2010, 2012, 100)
        (queue,) = self.process(t)["queues"]
        self.assertEqual(queue["max_length"], 3)
        self.assertAlmostEqual(queue["wait_us"], (2 + 192 + 382 + 572 + 2) / 5)

    def test_a_trace_of_few_steps_without_marks_is_one_unit(self):
        trace = kineto.training()
        trace.events = [e for e in trace.events if not e["name"].startswith("ProfilerStep")]
        p = self.process(trace)
        self.assertEqual(p["steps"]["detector"], "none")
        self.assertEqual({k["name"]: k["per_step"] for k in p["kernels"]}["gemm"], 4)

    def memory(self, has_totals):
        """In each step, aten::linear makes 4,096 bytes and the optimizer frees them. 1,000 bytes
        that were made before the trace began are freed in the second step; 500 stay."""
        trace, held = kineto.training(), 1500
        for step in range(4):
            begin = 1000 + 10000 * step + 3100
            for ts, address, size in ((60, 0x1000, 4096), (750, 0x1000, -4096),
                                      (5500, 0x9000, -1000))[:3 if step == 1 else 2]:
                held += size
                trace.memory(begin + ts, address, size, held if has_totals else None)
        return self.process(trace)

    def test_memory_is_that_of_the_allocator(self):
        for has_totals in (True, False):
            with self.subTest(has_totals=has_totals):
                p = self.memory(has_totals)
                memory = p["memory"]
                before = 1500 if has_totals else 1000  # of the rest only the totals tell
                self.assertEqual(memory["allocator"]["peak_bytes"], before + 4096)
                held = {row.get("what") or row["function"]: row["bytes"]
                        for row in memory["at_peak"]}
                self.assertEqual(held["before recording began"], before)
                self.assertEqual(sum(held.values()) - held.get("PyTorch cache, unused", 0),
                                 before + 4096)
                self.assertEqual({row["phase"]: row["bytes"] for row in memory["by_phase"]},
                                 {"other": before, "forward": 4096})
                self.assertEqual({row["phase"]: row["blocks_per_step"]
                                  for row in memory["by_phase"]}["forward"], 1)
                self.assertNotIn("memory", [row["what"] for row in p["unavailable"]])

    def test_steps_are_found_from_the_launches(self):
        """The parts of a step at the begin and the end are left out."""
        trace = kineto.training(20)
        trace.events = [e for e in trace.events if not e["name"].startswith("ProfilerStep")]
        p = self.process(trace)
        self.assertEqual((p["steps"]["detector"], p["steps"]["count"]), ("auto", 20))
        # no stacks confirm what the launches show
        self.assertTrue(0.5 < p["steps"]["confidence"] < 0.7, p["steps"])
        self.assertEqual(p["steps"]["recorded"], list(range(20)))
        self.assertAlmostEqual(p["baseline"]["step_ms"]["p50"], 10, delta=0.01)
        self.assertEqual({k["name"]: k["per_step"] for k in p["kernels"]}["gemm"], 1)
        begin, end = 1000 + 3500, 1000 + 10000 * 18 + 3500  # us
        trace.events = [e for e in trace.events if begin <= e["ts"] < end]
        self.assertEqual(self.process(trace)["steps"]["count"], 17)

    def test_ranks_have_their_gpu_time_and_waits(self):
        """Rank 1 comes 3 ms late to the first of two collectives per step; rank 2 has no partner in
        the second one."""
        folder = self.folder()
        os.makedirs(folder)
        for i, trace in enumerate(kineto.job(3)):
            trace.write(os.path.join(folder, f"rank{i}.json"))
        report = self.report(folder)
        for rank, communication, wait, late, last in ((0, 3.6, 3, 0, 0), (1, 0.6, 0, 3, 50),
                                                      (2, 3.6, 3, 0, 0)):
            with self.subTest(rank=rank):
                row = report["ranks"]["list"][rank]
                self.assertEqual((row["gpu_computation_ms"], row["gpu_overlap_ms"],
                                  row["gpu_communication_ms"], row["last_pct"]),
                                 (0.5, 0, communication, last))
                self.assertAlmostEqual(row["gpu_other_ms"], 10 - 0.5 - communication, places=3)
                self.assertAlmostEqual(row["wait_ms"], wait, places=3)
                self.assertAlmostEqual(row["late_ms"], late, places=3)
                self.assertEqual(report["processes"][rank]["collective_waits"],
                                 {"wait_ms_per_step": row["wait_ms"],
                                  "late_ms_per_step": row["late_ms"], "last_pct": last})
        merged = self.tool("merge", folder, "-o", os.path.join(folder, "all.zip"))
        self.assertRegex(merged.out + merged.err, r"3\.000 +2 +ncclAllReduce .* rank 1 +100 %")

    def collectives(self, **args):
        """Returns the collectives of each rank of a folder of ranks."""
        folder = self.folder()
        os.makedirs(folder)
        for i, trace in enumerate(kineto.job(**args)):
            trace.write(os.path.join(folder, f"rank{i}.json"))
        return [p["collectives"] for p in self.report(folder)["processes"]]

    def test_collectives_have_bandwidth_and_waits_in_spite_of_the_clocks(self):
        """The first collective of 4 MiB takes 500 us on the rank that comes last."""
        for numbered in (True, False):
            ranks = self.collectives(numbered=numbered, skews=[(0, 0), (5e5, 1e-4)])
            for i, rows in enumerate(ranks):
                with self.subTest(numbered=numbered, rank=i):
                    (row,) = rows
                    self.assertEqual((row["name"], row["ranks"], row["per_step"]),
                                     ("ncclAllReduce", 2, 2))
                    self.assertEqual((row["file"], row["line"]), ("train.py", 20))
                    self.assertEqual(row["bytes_per_step"], 4 * ((1 << 20) + (1 << 10)))
                    gpu_ms = 0.6 + (3 if i == 0 else 0)
                    self.assertAlmostEqual(row["gpu_ms_per_step"], gpu_ms, delta=0.001)
                    self.assertAlmostEqual(row["bus_gb_per_s"],
                                           row["bytes_per_step"] / gpu_ms / 1e6, delta=0.02)
                    self.assertAlmostEqual(row["wait_ms_per_step"], 3 if i == 0 else 0,
                                           delta=0.001)
                    if i == 0:
                        self.assertEqual(row["last_rank"], 1)

    def test_rank_of_a_collective_may_be_that_of_its_root(self):
        """PyTorch's "Rank" is the root or the other side, if there is one, else the caller."""
        trace, ranks, seq = kineto.training(), "[0, 1, 2, 3]", iter(range(100))
        for i in range(4):
            at = 1000 + 10000 * i
            for k, (name, args) in enumerate((
                    ("allreduce", {"Rank": 1}), ("broadcast", {"Rank": 2}),
                    ("reduce", {"Rank": 3}), ("send", {"Rank": 2, "Dst Rank": 2}))):
                trace.collective(name, at + 9000 + 200 * k, at + 9100 + 200 * k,
                                 at + 9150 + 200 * k, ranks=ranks, seq=next(seq), **args)
        path, into = trace.write(os.path.join(self.base, "host_1.1.pt.trace.json")), self.folder()
        made = self.tool("export", path, "--format", "kineto,perfetto", "--steps", "5-8", "-o",
                         into)
        self.assertEqual(made.status, 0, made.err)
        (written,) = glob.glob(os.path.join(into, "**", "*.json.gz"), recursive=True)
        with gzip.open(written) as file:
            events = json.load(file)["traceEvents"]
        facts = {e["args"]["Collective name"]: [e["args"].get(key) for key in (
            "Rank", "Dst Rank", "Group size")] for e in events
            if e.get("cat") == "cpu_op" and "Collective name" in e["args"]}
        self.assertEqual(facts, {"allreduce": [1, None, 4], "broadcast": [2, None, 4],
                                 "reduce": [3, None, 4], "send": [2, 2, 4]})
        (shown,) = glob.glob(os.path.join(into, "**", "*.pftrace.gz"), recursive=True)
        facts = {s.name: [s.args.get(key) for key in ("rank", "root", "peer_rank", "ranks")]
                 for s in Trace(shown).slices if s.args.get("api") == "nccl"}
        self.assertEqual(facts, {
            "ncclAllReduce": [1, None, None, 4], "ncclBroadcast": [None, 2, None, 4],
            "ncclReduce": [None, 3, None, 4], "ncclSend": [None, None, 2, 4]})

    def test_counts_of_collectives_are_those_of_nccl(self):
        """PyTorch gives the elements of both messages, nccl-tests counts the larger one."""
        part, all_ = 1 << 10, 1 << 12
        for name, sent, got, function in (
                ("_allgather_base", part, all_, "ncclAllGather"),
                ("_reduce_scatter_base", all_, part, "ncclReduceScatter"),
                ("all_to_all", all_, all_, "ncclAlltoAll"), ("scatter", all_, part, "ncclScatter"),
                ("barrier", 1, 1, "ncclAllReduce")):
            with self.subTest(name=name):
                trace = kineto.training()
                for i in range(4):
                    trace.collective(name, 1000 + 10000 * i + 9000, 1000 + 10000 * i + 9100,
                                     1000 + 10000 * i + 9200, ranks="[0, 1, 2, 3]", seq=i + 1,
                                     nelems=sent, dtype="BFloat16", **{"Out msg nelems": got})
                (row,) = self.process(trace)["collectives"]
                self.assertEqual((row["name"], row["bytes_per_step"]),
                                 (function, 2 * max(sent, got)))

    def test_operators_have_the_arithmetic_of_their_shapes(self):
        """A product of 2 TFLOP in 4 ms is at 500 of 989 TFLOP/s; one of thin matrices reads 1 GiB
        in 1 ms, with 3350 GB/s at most. An operator around another one that launches is not
        counted twice."""
        t = kineto.Trace()
        t.head["deviceProperties"][0]["name"] = "NVIDIA H100 80GB HBM3"
        for i in range(4):
            at = 1000 + 10000 * i
            t.step(i, at, 10000)
            t.operator("aten::baddbmm", at + 5, 90, **{"Input Dims": [[1], [1, 1, 1], [1, 1, 1]],
                                                       "Input type": ["c10::Half"] * 3})
            t.operator("aten::mm", at + 10, 80, **{
                "Input Dims": [[10000, 10000], [10000, 10000]], "Input type": ["c10::Half"] * 2})
            t.launch("gemm", at + 20, at + 100, 4000)
            t.operator("aten::addmm", at + 100, 80, **{
                "Input Dims": [[1], [1 << 15, 1 << 14], [1 << 14, 1], [], []],
                "Input type": ["c10::Half"] * 3 + ["Scalar"] * 2})
            t.launch("gemv", at + 120, at + 4200, 1000)
        p = self.process(t)
        rows = {row["name"]: row for row in p["shapes"]}
        self.assertEqual(sorted(rows), ["aten::addmm", "aten::mm"])
        large, thin = rows["aten::mm"], rows["aten::addmm"]
        self.assertEqual((large["shape"], large["type"], large["per_step"], large["bound"]),
                         ("10000x10000 10000x10000", "f16", 1, "compute"))
        self.assertEqual((large["flops_per_step"], large["bytes_per_step"]), (2e12, 6e8))
        self.assertAlmostEqual(large["tflops"], 500)
        self.assertAlmostEqual(large["roofline_pct"], 100 * 500 / 989.4, delta=0.1)
        moved = 2 * ((1 << 29) + (1 << 14) + (1 << 15))
        self.assertAlmostEqual(thin["bytes_per_step"], moved, delta=10)  # JSON has 8 digits
        self.assertEqual(thin["bound"], "memory")
        self.assertAlmostEqual(thin["roofline_pct"], 100 * moved / 3350e3 / 1000, delta=0.1)
        kernels = {k["name"]: k for k in p["kernels"]}
        self.assertAlmostEqual(kernels["gemm"]["tflops"], 500)
        self.assertEqual(p["collectives"], [])
        text = self.tool("report", self.write(t)).out
        self.assertRegex(text, r"aten::mm +1 +4\.000 +2e\+03 +500 +150 +50\.5 %\n"
                               r" +10000x10000 10000x10000 f16, bound by compute")

    def test_missing_stacks_are_said(self):
        p = self.process(kineto.training(stacks=False))
        gaps = {g["what"]: g["why"] for g in p["unavailable"]}
        self.assertIn("with_stack=True", gaps["source lines"])


class Forms(Foreign):
    def test_the_order_of_events_and_compression_do_not_matter(self):
        first = self.process(kineto.training())
        trace = kineto.training()
        random.Random(5).shuffle(trace.events)
        shuffled = self.report(self.write(trace, "x.pt.trace.json.gz"))["processes"][0]
        for key in ("kernels", "operators", "phases", "gpu", "syncs"):
            self.assertEqual(first[key], shuffled[key], key)

    def test_times_since_the_epoch_and_old_names_are_read(self):
        new = kineto.training()
        old = kineto.training()
        del old.head["baseTimeNanoseconds"]
        names = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
                 "gpu_memcpy": "Memcpy", "user_annotation": "Operator"}
        for e in old.events:
            e["ts"] += 1623142623460111
            e["cat"] = names.get(e["cat"], e["cat"])
            if e["cat"] in ("Kernel", "Memcpy"):
                e["tid"] = f"stream {e['tid']}"
                del e["args"]["stream"]
            else:
                e["tid"] = str(e["tid"])
        new, old = self.process(new), self.process(old)
        self.assertEqual(new["kernels"], old["kernels"])
        self.assertEqual(new["phases"], old["phases"])
        self.assertEqual(new["baseline"], old["baseline"])

    def test_a_folder_of_ranks_is_one_report(self):
        os.mkdir(os.path.join(self.base, "ranks"))
        for rank in range(2):
            self.write(kineto.training(rank=rank), f"ranks/host_{rank}.1.pt.trace.json.gz")
        report = self.report(os.path.join(self.base, "ranks"))
        self.assertEqual([p["rank"] for p in report["processes"]], [0, 1])

    def test_several_gpus_in_one_file(self):
        trace = kineto.training()
        for e in trace.events:
            if e["name"] == "relu":
                e["pid"] = e["args"]["device"] = 1
                e["ts"] -= 1880  # this GPU is free when the launch comes
        p = self.process(trace)
        self.assertEqual([g["device"] for g in p["gpu"]], [0, 1])
        self.assertAlmostEqual(p["gpu"][1]["busy_ms_per_step"], 2)

    def test_a_driver_call_within_a_runtime_call_is_not_counted_twice(self):
        trace = kineto.training()
        for e in list(trace.events):
            if e["name"] == "cudaLaunchKernel":
                trace.span("cuda_driver", "cuLaunchKernel", e["ts"] + 1, 3, e["tid"],
                           correlation=e["args"]["correlation"])
        self.assertEqual(self.process(trace)["completeness"]["launches"], 16)


class Faults(Foreign):
    def test_an_empty_capture_is_said_first(self):
        trace = kineto.training()
        trace.events = [e for e in trace.events if e["pid"] == kineto.PID]
        path = self.write(trace)
        run = self.tool("report", path)
        self.assertIn("empty capture", run.out.splitlines()[0])
        self.assertNotIn("idle", run.out)
        p = self.report(path)["processes"][0]
        self.assertEqual(p["gpu"], [])

    def test_a_trace_of_the_cpu_alone_has_no_gpu_figures(self):
        trace = kineto.training()
        trace.events = [e for e in trace.events
                        if e["pid"] == kineto.PID and e["cat"] != "cuda_runtime"]
        run = self.tool("report", self.write(trace))
        self.assertIn("recorded on the CPU alone", re.sub(r"\s+", " ", run.out))
        self.assertNotIn("idle", run.out)

    def test_of_a_cut_file_the_whole_events_are_used(self):
        text = kineto.training().text()
        path = os.path.join(self.base, "cut.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:len(text) * 7 // 8])
        run = self.tool("report", path)
        self.assertEqual(run.status, 1)
        self.assertEqual(len(run.err.splitlines()), 1)
        self.assertIn("the file ends early", run.err)
        self.assertIn("gemm", run.out)

    def test_a_cut_gzip_file_is_used_too(self):
        path = self.write(kineto.training(200), "cut.json.gz")
        with open(path, "rb+") as file:
            file.truncate(os.path.getsize(path) * 3 // 4)
        run = self.tool("report", path)
        self.assertEqual(run.status, 1)
        self.assertIn("the compressed data ends early", run.err)
        self.assertIn("gemm", run.out)

    def test_strange_values_give_one_line_or_a_report(self):
        head = '{"traceEvents": ['
        event = ('{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":%s,'
                 '"args":{"correlation":1,"stream":7}}]}')
        for name, text, says in (
                ("nothing", "", "not a trace"),
                ("number", "42", "no JSON object"),
                ("no list", '{"a": 1}', 'no list "traceEvents"'),
                ("nan", head + event % "NaN", None),
                ("negative", head + event % "-5", None),
                ("huge", head + event % "1e300", None),
                ("deep", head + event % ("[" * 100000 + "]" * 100000), None),
                ("twice", head + event % '2,"dur":3,"name":"z"', None),
                ("utf-8", head + event % '2,"name":"\\ud800\x01"', None)):
            with self.subTest(name):
                path = os.path.join(self.base, "odd.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                run = self.tool("report", path)
                self.assertLessEqual(len(run.err.splitlines()), 1, run.err)
                self.assertIn(run.status, (0, 1))
                if says:
                    self.assertIn(says, run.err)
                    self.assertEqual(run.status, 1)

    def test_the_folder_of_a_run_without_journals_is_no_folder_of_traces(self):
        folder = os.path.join(self.base, "run")
        os.mkdir(folder)
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        run = self.tool("report", folder)
        self.assertEqual((run.status, len(run.err.splitlines())), (1, 1), run.err)
        self.assertIn("journal", run.err)

    def test_other_files_are_refused(self):
        path = os.path.join(self.base, "notes.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("hello")
        run = self.tool("report", path)
        self.assertEqual(run.status, 1)
        self.assertIn("neither a run of profrun nor a trace of torch.profiler", run.err)


class Commands(Foreign):
    def test_export_writes_the_steps_in_every_format(self):
        path = self.write(kineto.training())
        out = os.path.join(self.base, "out")
        run = self.tool("export", path, "--format", "perfetto,chrome,folded", "-o", out)
        self.assertEqual((run.status, run.err), (0, ""))
        files = sorted(os.path.basename(f) for f in glob.glob(out + "/0/*"))
        self.assertEqual(len(files), 12)
        with gzip.open(os.path.join(out, "0", "step-5.json.gz"), "rt") as file:
            names = [e["name"] for e in json.load(file)["traceEvents"]]
        self.assertIn("gemm", names)

    def test_an_impossible_bandwidth_is_limited(self):
        """A copy of 2^62 bytes in a nanosecond, as in a damaged trace."""
        trace = kineto.training()
        trace.call("cudaMemcpyAsync", 2000, 4)
        trace.gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 2100, 0.001, bytes=1 << 62)
        out = os.path.join(self.base, "bandwidth")
        self.assertEqual(self.tool("export", self.write(trace), "--format", "kineto", "-o",
                                   out).status, 0)
        path, = glob.glob(os.path.join(out, "**", "*.json.gz"), recursive=True)
        with gzip.open(path) as file:
            values = [value for e in json.load(file)["traceEvents"]
                      if e.get("ph") == "C" and e["name"].startswith("Memcpy HtoD")
                      for value in e["args"].values()]
        self.assertEqual((min(values), max(values)), (0, 1e6), values)  # GB/s

    def test_export_writes_next_to_a_trace_of_any_name(self):
        for name in ("a.pt.trace.json", "b.trace"):
            path = self.write(kineto.training(1), name)
            self.assertEqual(self.tool("export", path).status, 0)
            folder = path.replace(".json", "") + ".profrun"
            self.assertTrue(glob.glob(folder + "/0/step-5.pftrace.gz"), name)

    def test_whatif_answers_for_a_line_and_for_launches(self):
        path = self.write(kineto.training())
        run = self.tool("whatif", path, "--without", "train.py:30", "--json")
        self.assertEqual(run.status, 0, run.err)
        self.assertGreater(json.loads(run.out)["gain_ms"], 3)

    def test_info_counts_what_is_there(self):
        run = self.tool("info", self.write(kineto.training()))
        self.assertEqual((run.status, run.err), (0, ""))
        self.assertIn("steps      5-8, marked by ProfilerStep", run.out)
        self.assertIn("kernels 16, copies 4", run.out)


if __name__ == "__main__":
    unittest.main()
