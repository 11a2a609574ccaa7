"""profrun diff: traces with known differences, and runs of a program with planted changes."""
import json
import os
import random
import shutil

import kineto
from harness import ROOT, Case

DEMO = os.path.join(ROOT, "test", "prog", "demo.py")


class Diff(Case):
    def write(self, trace, name):
        path = os.path.join(self.base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return trace.write(path)

    def diff(self, a, b, *options, status=0):
        run = self.tool("diff", a, b, "--json", *options)
        self.assertEqual(run.status, status, run.err)
        return json.loads(run.out)

    def rows(self, result, name):
        return {row.get("name") or f"{row['file']}:{row['line']}": row for row in result[name]}

    def gate(self, a, b, pct, status):
        result = self.diff(a, b, "--fail-above", str(pct), status=status)
        return result["gate"]["result"]


def lengths(step_us):
    """Returns a trace with steps of these lengths."""
    trace, starts, at = kineto.training(n_steps=len(step_us)), [], 1000
    for us in step_us:
        starts.append(at)
        at += us
    for e in trace.events:
        i = int((e["ts"] - 1000) // 10000)
        e["ts"] += starts[i] - (1000 + 10000 * i)
        if e["name"].startswith("ProfilerStep") or e["name"] == "train.py(10): main":
            e["dur"] = step_us[i]
    return trace


class Traces(Diff):
    def setUp(self):
        self.a = self.write(kineto.training(), "a.json")

    def test_a_trace_does_not_differ_from_itself(self):
        result = self.diff(self.a, self.a, "--fail-above", "0")
        self.assertEqual(result["verdict"], "no difference")
        self.assertEqual(result["median"]["interval_ms"], [0, 0])
        self.assertEqual(result["gate"], {"pct": 0, "result": "passed", "why": None})
        for name in ("idle", "kernels", "syncs", "host", "lines", "operators", "modules", "calls"):
            self.assertTrue(result[name], name)
            self.assertEqual({row["state"] for row in result[name]}, {"same"}, name)

    def test_what_became_slower_is_named_by_the_size_of_the_change(self):
        trace = kineto.training(load_us=5000, step_us=12000)
        for e in trace.events:
            if e["name"] == "multi_tensor_apply":
                e["dur"] = 300
            if e["name"] == "relu":
                e["name"] = "relu_v2"
        result = self.diff(self.a, self.write(trace, "b.json"))
        self.assertEqual(result["verdict"], "slower")
        self.assertEqual(result["median"],
                         {"a_ms": 10, "b_ms": 12, "change_ms": 2, "change_pct": 20,
                          "interval_ms": [2, 2], "interval_pct": [20, 20]})
        idle = result["idle"][0]
        self.assertEqual((idle["name"], idle["state"]), ("input", "slower"))
        self.assertAlmostEqual(idle["change_ms"], 2, delta=0.01)
        kernels = self.rows(result, "kernels")
        self.assertEqual([(k["name"], k["state"], k["change_ms"], k["gpu_ms_per_step"],
                           k["per_step"]) for k in result["kernels"]],
                         [("relu", "gone", -2, [2, 0], [1, 0]),
                          ("relu_v2", "new", 2, [0, 2], [0, 1]),
                          ("multi_tensor_apply", "slower", 0.2, [0.1, 0.3], [1, 1]),
                          ("gemm", "same", 0, [2, 2], [1, 1]),
                          ("gemm_backward", "same", 0, [1, 1], [1, 1])])
        self.assertEqual(len(kernels), 5)
        self.assertAlmostEqual(result["gpu_busy_ms"][1] - result["gpu_busy_ms"][0], 0.2)

    def test_the_text_says_the_same(self):
        b = self.write(kineto.training(load_us=5000, step_us=12000), "b.json")
        run = self.tool("diff", self.a, b, "--fail-above", "5")
        self.assertEqual(run.status, 1)
        self.assertIn("became slower by more than 5 % (median +20.0 %", run.err)
        first = run.out.splitlines()
        self.assertRegex(first[0], r"^A        .*a\.json")
        self.assertRegex(run.out, r"\nB        .*b\.json")
        self.assertRegex(run.out, r"\nstep     10\.00 -> 12\.00 ms \(median of 4 and 4 steps\): "
                                  r"slower; \+2\.000 ms\s+\(\+20\.0 %\), 95 % interval "
                                  r"\+2\.000 to \+2\.000 ms\n")
        self.assertRegex(run.out, r"\n  \+2\.000 +3\.\d+ +5\.\d+  data loading\n")
        self.assertNotIn("gemm", run.out.split("\nNot compared")[0].split("Kernels")[-1])

    def test_the_gate_needs_the_interval_above_the_limit(self):
        b = self.write(kineto.training(load_us=5000, step_us=12000), "b.json")
        self.assertEqual(self.gate(self.a, b, 19.9, 1), "failed")
        self.assertEqual(self.gate(self.a, b, 20, 0), "passed")
        self.assertEqual(self.gate(b, self.a, 0, 0), "passed")
        rng = random.Random(1)
        # 12 ms in the median, but steps vary so much that 15 % is not certain
        noisy = lengths([12000 + rng.randrange(-1990, 1990) for _ in range(20)])
        noisy = self.write(noisy, "noisy.json")
        result = self.diff(self.a, noisy, "--fail-above", "19")
        low, high = result["median"]["interval_pct"]
        self.assertLess(low, 19)
        self.assertGreater(high, 19)
        self.assertEqual(self.gate(self.a, noisy, 5, 1), "failed")

    def test_noise_is_no_difference(self):
        rng = random.Random(2)
        a, b = (self.write(lengths([12000 + rng.randrange(-1500, 1500) for _ in range(20)]), name)
                for name in ("n1.json", "n2.json"))
        result = self.diff(a, b, "--fail-above", "0")
        self.assertEqual(result["verdict"], "no difference")
        self.assertNotEqual(result["median"]["change_ms"], 0)
        self.assertIn("no difference beyond the noise", self.tool("diff", a, b).out)

    def test_slower_steps_that_the_median_does_not_see_fail_the_gate(self):
        b = self.write(lengths([14000 if i % 4 == 3 else 10000 for i in range(40)]), "b.json")
        a = self.write(kineto.training(n_steps=40), "whole.json")
        result = self.diff(a, b, "--fail-above", "3", status=1)
        self.assertEqual(result["median"]["change_ms"], 0)
        self.assertAlmostEqual(result["mean"]["change_ms"], 1)
        self.assertEqual(result["verdict"], "slower")

    def test_what_cannot_be_judged_is_status_2(self):
        one = self.write(kineto.training(n_steps=1), "one.json")
        result = self.diff(self.a, one, "--fail-above", "50", status=2)
        self.assertEqual(result["gate"], {"pct": 50, "result": "not judged", "why":
                                          "B has fewer than two steps after the warm-up"})
        self.assertIsNone(result["median"]["interval_ms"])
        self.assertEqual(self.diff(self.a, one)["verdict"], "unknown")
        no_steps = kineto.training()
        no_steps.events = [e for e in no_steps.events if not e["name"].startswith("ProfilerStep")]
        no_steps = self.write(no_steps, "no_steps.json")
        run = self.tool("diff", self.a, no_steps, "--fail-above", "5")
        self.assertEqual((run.status, run.out), (2, ""))
        self.assertIn("cannot be compared: the figures of A are of steps, those of B of the whole "
                      "run", run.err)
        result = self.diff(no_steps, no_steps)
        self.assertEqual((result["unit"], result["median"]), ("run", None))
        self.assertEqual(self.rows(result, "kernels")["gemm"]["per_step"], [4, 4])
        self.assertEqual(self.gate(no_steps, no_steps, 5, 2), "not judged")

    def test_bad_input_is_status_2(self):
        cut = os.path.join(self.base, "cut.json")
        with open(cut, "w") as file:
            file.write(kineto.training().text()[:-2000])
        for arguments, said in (((self.a,), "which two runs?"), ((), "which two runs?"),
                                ((self.a, self.a, self.a), "two folders or traces"),
                                ((self.a, "/nowhere"), "no such file"),
                                ((self.a, __file__), "neither a run of profrun nor a trace"),
                                ((self.a, cut), "cover only what could be read"),
                                ((self.a, self.a, "--fail-above", "-1"), "percentage"),
                                ((self.a, self.a, "--fail-above", "x"), "percentage"),
                                ((self.a, self.a, "--fail-above", "nan"), "percentage")):
            with self.subTest(arguments=arguments):
                run = self.tool("diff", *arguments)
                self.assertEqual(run.status, 2, run.err)
                self.assertIn(said, run.err)

    def test_lines_that_one_side_lacks_are_not_compared(self):
        b = self.write(kineto.training(stacks=False), "b.json")
        result = self.diff(self.a, b)
        why = {gap["what"]: gap["why"] for gap in result["not_compared"]}
        self.assertIn("B has no source lines: ", why["Lines with CUDA calls"])
        self.assertEqual(result["lines"], [])
        self.assertEqual(why["Memory peak"], "neither has it")
        wait = result["syncs"][0]  # by name, without a place
        self.assertEqual((wait["name"], wait["per_step"]), ("cudaStreamSynchronize", [1, 1]))
        self.assertNotIn("file", wait)
        self.assertIn("without their lines", " ".join(result["notes"]))

    def test_only_the_step_times_of_an_empty_capture_are_compared(self):
        empty = kineto.training(step_us=12000)
        empty.events = [e for e in empty.events
                        if e["cat"] not in ("kernel", "gpu_memcpy", "cuda_sync")]
        result = self.diff(self.a, self.write(empty, "empty.json"), "--fail-above", "5", status=1)
        self.assertEqual(result["median"]["change_ms"], 2)
        why = {gap["what"]: gap["why"] for gap in result["not_compared"]}
        self.assertIn("B has no GPU times: empty capture: ", why["Kernels"])
        for name in ("idle", "kernels", "syncs", "lines", "calls", "operators"):
            self.assertEqual(result[name], [], name)


class Ranks(Diff):
    def folder_of(self, name, slow_rank=None, ranks=(0, 1)):
        for rank in ranks:
            slow = {"load_us": 5000, "step_us": 12000} if rank == slow_rank else {}
            self.write(kineto.training(rank=rank, **slow), f"{name}/host_{rank}.pt.trace.json")
        return os.path.join(self.base, name)

    def test_the_mean_of_the_ranks_that_both_have_is_compared(self):
        result = self.diff(self.folder_of("a"), self.folder_of("b", slow_rank=1))
        self.assertEqual(result["a"]["process"], "mean of 2 ranks")
        self.assertAlmostEqual(self.rows(result, "idle")["input"]["change_ms"], 1, delta=0.01)
        self.assertEqual([(r["rank"], r["step"]["change_ms"]) for r in result["ranks"]],
                         [(0, 0), (1, 2)])
        self.assertEqual(result["ranks"][1]["idle_cause"], "input")
        self.assertAlmostEqual(result["ranks"][1]["idle_change_ms"], 2, delta=0.01)
        # the step of a job is as long as that of its slowest rank
        self.assertEqual(result["median"]["change_ms"], 2)
        self.assertRegex(self.tool("diff", *(os.path.join(self.base, x) for x in "ab")).out,
                         r"\n +1 +\+2\.000 +10\.00 +12\.00 .*data loading")

    def test_a_folder_and_the_trace_of_one_rank_have_that_rank_in_common(self):
        folder = self.folder_of("c", slow_rank=0)
        one = self.write(kineto.training(rank=1), "one.json")
        result = self.diff(folder, one)
        self.assertEqual(result["verdict"], "no difference")
        self.assertEqual(result["a"]["process"], "rank 1, one of 2 processes")

    def test_other_ranks_are_said(self):
        a = self.write(kineto.training(rank=4), "a4.json")
        b = self.write(kineto.training(rank=1), "b1.json")
        self.assertIn("no rank in common", " ".join(self.diff(a, b)["notes"]))


class Runs(Diff):
    """Two runs of the demo: the second loads its batches 20 ms longer and has a longer kernel."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.old, cls.new = os.path.join(cls.base, "old"), os.path.join(cls.base, "new")
        for folder in (cls.old, cls.new):
            os.mkdir(folder)
            shutil.copy(DEMO, folder)
        cls.edit(os.path.join(cls.new, "demo.py"))
        for folder in (cls.old, cls.new):
            cls.run_demo(folder)

    @staticmethod
    def edit(path):
        with open(path) as file:
            text = file.read()
        for a, b in (("time.sleep(0.002)", "time.sleep(0.022)"),
                     ("gelu_forward_30us", "gelu_forward_230us"),
                     ("def main():", "# Two lines\n# more.\ndef main():")):
            assert a in text
            text = text.replace(a, b)
        with open(path, "w") as file:
            file.write(text)

    @classmethod
    def run_demo(cls, folder):
        case = cls()
        command, out, env = case.launched(["python3", "demo.py"])
        run = case.execute(command, out, env, cwd=folder)
        assert run.status == 0, run.err
        os.rename(out, os.path.join(folder, "out"))

    def runTest(self):  # so that setUpClass can make an object
        pass

    def compared(self):
        return self.diff(os.path.join(self.old, "out"), os.path.join(self.new, "out"),
                         "--fail-above", "20", status=1)

    def test_the_planted_changes_are_found(self):
        result = self.compared()
        self.assertEqual(result["verdict"], "slower")
        self.assertGreater(result["median"]["change_ms"], 15)
        kernels = self.rows(result, "kernels")
        self.assertEqual((kernels["gelu_forward_30us"]["state"],
                          kernels["gelu_forward_30us"]["per_step"]), ("gone", [4, 0]))
        self.assertEqual((kernels["gelu_forward_230us"]["state"],
                          kernels["gelu_forward_230us"]["per_step"]), ("new", [0, 4]))
        self.assertAlmostEqual(kernels["gelu_forward_230us"]["change_ms"], 0.92, delta=0.02)
        self.assertEqual(kernels["adam_50us"]["state"], "same")
        slept = [row for row in result["host"] if "time.sleep" in row.get("source", "")]
        self.assertEqual([row["state"] for row in slept], ["new", "gone"])
        self.assertGreater(slept[0]["change_ms"], 15)

    def test_lines_that_moved_are_the_same_lines(self):
        result = self.compared()
        for name in ("lines", "copies", "syncs"):
            moved = [row for row in result[name] if "byref(scalar)" in row.get("source", "")]
            self.assertEqual(len(moved), 1, name)
            self.assertEqual(moved[0]["line"], moved[0]["line_before"] + 2)
            self.assertEqual(moved[0]["file"], "demo.py")
            if name == "copies":  # lines count launches; whether a copy waits depends on the load
                self.assertEqual(moved[0]["per_step"], [1, 1])
            self.assertNotIn(moved[0]["state"], ("new", "gone"))
        line = [row for row in result["lines"] if "self.gelu_forward()" in row["source"]][0]
        self.assertNotIn("line_before", line)
        self.assertAlmostEqual(line["gpu_ms_per_step"][1] - line["gpu_ms_per_step"][0], 0.8,
                               delta=0.02)

    def test_a_file_that_was_edited_in_place_keeps_the_texts_of_its_run(self):
        place = os.path.join(self.base, "place")
        shutil.copytree(self.old, place)
        shutil.rmtree(os.path.join(place, "out"))
        self.run_demo(place)
        os.rename(os.path.join(place, "out"), os.path.join(place, "before"))
        self.edit(os.path.join(place, "demo.py"))
        self.run_demo(place)
        a, b = os.path.join(place, "before"), os.path.join(place, "out")
        def moved():
            rows = self.diff(a, b)["copies"]
            return [row["line"] - row["line_before"] for row in rows if "line_before" in row]
        self.assertEqual(moved(), [2])
        # Without the run's report, the file on disk would be taken for the older one.
        os.remove(os.path.join(a, "report.json"))
        self.assertEqual(moved(), [])

    def test_step_times_do_not_need_recorded_steps(self):
        command, out, env = self.launched(["python3", "demo.py"], PROF_OPENING="off",
                                          PROF_SCHEDULE="skip_first=1000")
        self.assertEqual(self.execute(command, out, env, cwd=self.new).status, 0)
        result = self.diff(os.path.join(self.old, "out"), out, "--fail-above", "20", status=1)
        self.assertGreater(result["median"]["change_ms"], 15)
        self.assertIsNone(result["gpu_busy_ms"])
        self.assertEqual(result["kernels"], [])
        self.assertIn("no step of B was recorded", result["not_compared"][0]["why"])
        self.assertEqual(self.diff(out, out, "--fail-above", "20")["verdict"], "no difference")

    def test_a_run_and_a_trace_of_torch_profiler(self):
        trace = self.write(kineto.training(), "t.json")
        result = self.diff(os.path.join(self.old, "out"), trace)
        self.assertEqual((result["a"]["tool"], result["b"]["tool"]), ("profrun", "torch.profiler"))
        self.assertEqual(self.rows(result, "kernels")["gemm"]["state"], "new")
        self.assertEqual([row for row in result["lines"] if row["state"] in ("new", "gone")], [])
        why = {gap["what"]: gap["why"] for gap in result["not_compared"]}
        self.assertIn("record them differently", why["Lines with CUDA calls"])
        self.assertIn("torch.profiler", " ".join(result["notes"]))
