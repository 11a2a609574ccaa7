"""The unmodified CUDA wheel of PyTorch under profrun, on the simulated GPU; on a real one with
PROFRUN_GPU=1.

Oracles: the script's own output without profrun; the simulated GPU's account of every operation
(PROFSIM_TRUTH); the raw journal, read by the tests' own reader; torch.profiler's trace of the same
loop.
"""
import collections
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from at_exit import again  # noqa: E402
from harness import BUILD, LAUNCHER, SIM, Case, environment, truth  # noqa: E402
from trace import Trace  # noqa: E402

TRAIN = os.path.join(HERE, "train.py")
ON_GPU = os.environ.get("PROFRUN_GPU") == "1"
STEPS = 40
CLOCK_ERROR_NS = 50  # of a trace's times; less than the time between two launches
SCHEDULE = "skip_first=20,wait=0,warmup=2,active=3,repeat=1"


def python():
    """Returns the interpreter that has torch: the tier's own environment, or the machine's where
    there is a GPU."""
    own = os.path.join(BUILD, "torch-venv", "bin", "python")
    if os.path.exists(os.path.join(BUILD, "torch-venv", ".complete")):
        return own
    if ON_GPU:
        return sys.executable
    done = subprocess.run([os.path.join(HERE, "setup.sh")])
    if done.returncode == 77:
        raise unittest.SkipTest("PyTorch's CUDA wheel cannot be had here")
    return own


def setUpModule():
    global PYTHON
    PYTHON = python()


def demangle(names):
    """Mangled -> demangled, by binutils: another implementation than the one under test."""
    names = sorted(set(names))
    done = subprocess.run(["c++filt"], input="\n".join(names), text=True, stdout=subprocess.PIPE,
                          check=True)
    return dict(zip(names, done.stdout.split("\n")))


class TorchCase(Case):
    def train(self, *arguments, profiled=True, options=(), **settings):
        """Runs with records of calls, which the tests' own reader pairs by; only profrun pairs by
        order."""
        settings.setdefault("PROF_PAIRING", "interval")
        return again(lambda: self.train_once(arguments, profiled, options, settings))

    def train_once(self, arguments, profiled, options, settings):
        command = [PYTHON, TRAIN, "--steps", str(STEPS), *arguments]
        if profiled:
            folder = self.folder()
            line = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", folder, *options, "--",
                    *command]
            return self.execute(line, folder, environment(**settings), timeout=300)
        preload = " ".join(os.path.join(SIM, name)
                           for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))
        if not ON_GPU:
            settings["LD_PRELOAD"] = preload
        return self.execute(command, self.folder(), environment(**settings), timeout=300)


def traced_steps(run):
    """[(number, begin, end)] of the traced steps, in ticks. The traces know them in any case; the
    journal's marks do not if the collector found the steps after the run."""
    journal, found = run.journal(), []
    for number, path in zip(run.trace_steps(), run.traces_in_order()):
        trace = Trace(path)
        step, = (s for s in trace.slices if trace.tracks[s.track].name == "Steps")
        begin, end = (journal.ticks(ns - CLOCK_ERROR_NS) for ns in (step.time, step.end))
        found.append((number, begin, end))
    return found


def kernels_of(journal, begin, end):
    """Kernel records in the order of their launches, of the launches that began in [begin, end)."""
    pairs = journal.pairs()
    found = []
    for work in journal.gpu():
        call = pairs.get(work.correlation)
        if work.work == "kernel" and call and begin <= call.begin < end:
            found.append((call.begin, work))
    return [work for _, work in sorted(found, key=lambda row: (row[0], row[1].begin))]


class TrainUnderProfrun(TorchCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("test_prints_what_it_prints_alone")
        cls.truth_path = os.path.join(cls.base, "truth")
        cls.alone = case.train(profiled=False)
        cls.run_ = case.train(options=["--schedule", SCHEDULE], PROFSIM_TRUTH=cls.truth_path)
        cls.journal = cls.run_.journal()
        cls.steps = traced_steps(cls.run_)

    def test_prints_what_it_prints_alone(self):
        self.assertEqual(self.alone.status, 0, self.alone.err)
        self.assertEqual(self.run_.status, 0, self.run_.err)
        self.assertEqual(self.run_.out, self.alone.out)
        self.assertEqual(self.run_.other_err(), self.alone.err)

    def test_steps_are_counted_right(self):
        process, = self.run_.json["processes"]
        self.assertEqual(process["steps"]["count"], STEPS)
        self.assertEqual(process["steps"]["recorded"][:3], self.run_.trace_steps())
        self.assertEqual(len(self.run_.trace_steps()), 3)

    def test_every_launch_is_paired_and_named(self):
        for _, begin, end in self.steps:
            launches = [c for c in self.journal.calls() if c.category == "launch"
                        and begin <= c.begin < end]
            kernels = kernels_of(self.journal, begin, end)
            self.assertGreater(len(launches), 40)
            self.assertEqual(len(kernels), len(launches))
            host = [self.journal.launch_name(call) for call in launches]
            device = [self.journal.kernel_name(kernel) for kernel in kernels]
            self.assertEqual(host, device)
        shapes = [[self.journal.kernel_name(k) for k in kernels_of(self.journal, b, e)]
                  for _, b, e in self.steps]
        self.assertEqual(shapes[0], shapes[1])
        self.assertEqual(shapes[0], shapes[2])

    def test_trace_holds_every_launch_with_an_arrow_to_its_kernel(self):
        names = demangle(self.journal.kernel_name(k) for k in self.journal.gpu()
                         if k.work == "kernel")
        for (_, begin, end), path in zip(self.steps, self.run_.traces_in_order()):
            trace = Trace(path)
            kernels = kernels_of(self.journal, begin, end)
            arrows = {flow: entry for flow, entry in trace.flows_in}
            ends = [(entry, arrows[flow]) for flow, entry in trace.flows_out if flow in arrows]
            launched = sorted(((a, b) for a, b in ends if "aunchKernel" in a.name),
                              key=lambda row: row[0].time)
            self.assertEqual([b.name for _, b in launched],
                             [names[self.journal.kernel_name(k)] for k in kernels])
            for call, kernel in launched:
                self.assertLessEqual(call.time, kernel.time)
            threads = {trace.tracks[call.track].tid for call, _ in launched}
            self.assertEqual(len(threads), 2, "forward on the main thread, backward on autograd's")

    @unittest.skipIf(ON_GPU, "only the simulated GPU has an account of its own")
    def test_durations_are_the_gpus_own(self):
        by_correlation = {row.correlation: row for row in truth(self.truth_path)
                          if row.work == "kernel"}
        checked = 0
        for _, begin, end in self.steps:
            for kernel in kernels_of(self.journal, begin, end):
                row = by_correlation[kernel.correlation]
                self.assertEqual(row.name, self.journal.kernel_name(kernel))
                took, true = (self.journal.ns(kernel.end) - self.journal.ns(kernel.begin),
                              row.end - row.start)
                self.assertAlmostEqual(took, true, delta=max(50, 0.01 * true))
                checked += 1
        self.assertGreater(checked, 100)


PHASES = ("data", "forward", "backward", "optimizer", "other")


class Phases(TorchCase):
    """Phases and modules against the program's own account of when its phases began and ended
    (test/torch/phases.py)."""

    def run_kind(self, kind, **settings):
        """The report's process, and a trace a step with the program's own intervals."""
        def once():
            folder = self.folder()
            line = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", folder, "--step",
                    "nvtx:train step", "--schedule",
                    "skip_first=20,wait=0,warmup=2,active=8,repeat=1", "--", PYTHON,
                    os.path.join(HERE, "phases.py"), kind]
            # With launches of 40 us, the host's work between calls, and the time in which a thread
            # wakes up, matter less.
            return self.execute(line, folder, environment(PROFSIM_LAUNCH_US="40", **settings),
                                timeout=300)
        run = again(once)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json")) as file:
            process = max(json.load(file)["processes"], key=lambda p: len(p["operators"]))
        traces = [Trace(path) for path in run.traces_in_order()]
        self.assertEqual(len(traces), 8, run.err)
        return process, traces, json.loads(run.out)

    def slices(self, trace, track):
        return [s for s in trace.slices if trace.tracks[s.track].name == track]

    def agreement(self, trace, own):
        """Returns the share of the program's phase time that the trace assigns to the same phase.
        Phases cover the step without gaps."""
        (step,), spans = (self.slices(trace, "Steps"),
                          [s for s in self.slices(trace, "Phases") if s.name in PHASES])
        self.assertEqual([s.time for s in spans[1:]], [s.end for s in spans[:-1]])
        self.assertEqual((spans[0].time, spans[-1].end), (step.time, step.end))
        same = all_ = 0
        for name, begin, end in own:
            for s in spans:
                both = max(0, min(s.end, end) - max(s.time, begin))
                all_ += both
                same += both * (s.name == name)
        return same / all_

    def check(self, kind, parts=(), **settings):
        process, traces, own = self.run_kind(kind, **settings)
        best = max(self.agreement(trace, own) for trace in traces)
        self.assertGreater(best, 0.85, "in the step that nothing disturbed")
        phases = {p["name"]: p for p in process["phases"]}
        self.assertLessEqual({"data", "forward", "backward", "optimizer"}, set(phases))
        armed = process["baseline"]["recorded_ms"]["mean"]
        self.assertAlmostEqual(sum(p["host_ms_per_step"] for p in phases.values()), armed,
                               delta=0.01 + armed / 1000)
        works = sum(k["gpu_ms_per_step"] for k in process["kernels"])
        self.assertGreater(sum(p["gpu_ms_per_step"] for p in phases.values()), 0.99 * works)
        for phase, part in parts:
            names = [x["name"] for x in phases[phase]["parts"] if x["host_ms_per_step"] > 0]
            self.assertIn(part, names, phases)
            self.assertTrue(any(s.name == part for s in self.slices(traces[-1], "Phases")))
        return process, traces

    def test_plain(self):
        process, traces = self.check("plain", [("optimizer", "gradient clipping"),
                                               ("data", "batch to device")])
        self.assertNotIn("phases", [gap["what"] for gap in process["unavailable"]])
        for trace in traces:
            self.check_modules(trace)

    def check_modules(self, trace):
        """Blocks follow one another, each with its norm and its layers; the calls that a module
        makes lie within it."""
        (name,) = [t.name for t in trace.tracks.values() if t.name.startswith("nn.Module")]
        modules = self.slices(trace, name)
        inside = {}
        for m in modules:
            around = [o for o in modules if o is not m and o.time <= m.time and m.end <= o.end
                      and modules.index(o) < modules.index(m)]
            inside[m] = [o.name for o in around]
        names = collections.Counter(".".join(inside[m] + [m.name]) for m in modules)
        self.assertEqual(names, {"Net": 1, "Net.Block": 4, "Net.Block.LayerNorm": 4,
                                 "Net.Block.Sequential": 4, "Net.Block.Sequential.Linear": 8,
                                 "Net.Block.Sequential.GELU": 4,
                                 "Net.Linear": 1})

    def test_amp(self):
        self.check("amp", [("optimizer", "gradient scaler")])

    def test_gradient_accumulation(self):
        self.check("accumulation")

    def test_loader_with_workers(self):
        self.check("workers")

    def test_batches_that_are_kept_until_the_next_one(self):
        process, _ = self.check("kept_batches", [("data", "waiting for next batch")])
        phases = {p["name"]: p["host_ms_per_step"] for p in process["phases"]}
        # On a busy machine the workers are ahead. Then the wait is shorter than the time between
        # two samples, and in some steps nothing shows what it was.
        self.assertGreater(phases["data"], 2 * phases.get("other", 0),
                           "the loader takes 16 ms a worker and batch")

    def test_the_users_own_thread_fetches_ahead(self):
        process, _ = self.check("own_thread", [("data", "waiting for next batch")])
        phases = {p["name"]: p["host_ms_per_step"] for p in process["phases"]}
        self.assertGreater(phases["data"], phases["forward"], "each batch takes 16 ms to make")

    def test_checkpoint(self):
        self.check("checkpoint", [("backward", "recompute")])

    def test_evaluation(self):
        self.check("evaluation", [("forward", "evaluation")])

    def test_evaluation_ahead_of_the_training_pass(self):
        """Evaluation launches what the training pass launches. Without records of blocks it cannot
        be detected: no_grad() leaves no frame."""
        process, _ = self.check("evaluation_ahead", [("forward", "evaluation")])
        forward, = [x for x in process["phases"] if x["name"] == "forward"]
        evaluation, = [x for x in forward["parts"] if x["name"] == "evaluation"]
        self.assertAlmostEqual(evaluation["gpu_ms_per_step"], forward["gpu_ms_per_step"] / 2,
                               delta=0.01 * forward["gpu_ms_per_step"])
        process, _, _ = self.run_kind("evaluation_ahead", PROF_MEMORY="off")
        forward, = [x for x in process["phases"] if x["name"] == "forward"]
        self.assertEqual(forward["parts"], [])

    def test_a_hand_written_loss(self):
        self.check("hand_made")

    def test_passes_within_the_optimizers_step(self):
        self.check("closure")

    def test_passes_that_an_optimizer_repeats(self):
        """The loss is computed in the closure: only what the optimizer itself does is the
        optimizer's."""
        process, _ = self.check("lbfgs")
        self.assertEqual([x["name"] for p in process["phases"] if p["name"] == "forward"
                          for x in p["parts"]], [])
        modules = {m["name"]: m["per_step"] for m in process["modules"]}
        self.assertEqual((modules["Net"], modules["Net.Block"]), (2, 8), modules)

    def test_without_python_frames(self):
        process, _, _ = self.run_kind("plain", PROF_PYTHON="off")
        self.assertLessEqual({"forward", "backward", "optimizer"},
                             {p["name"] for p in process["phases"]})
        (why,) = [gap["why"] for gap in process["unavailable"] if gap["what"] == "reliable phases"]
        self.assertIn("have no Python frames", why)


class Spans(TorchCase):
    """What a trace shows around the calls: ranges by torch.cuda.nvtx, operators and autograd nodes
    from the stacks."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run = cls("test_ranges_in_each_step").train("--nvtx", options=["--schedule", SCHEDULE])
        cls.traces = [Trace(path) for path in run.traces_in_order()]
        with open(os.path.join(run.folder, "report.json")) as file:
            cls.process = max(json.load(file)["processes"], key=lambda p: len(p["operators"]))

    def within(self, trace, outer, *names):
        """Slices of these names on the track of `outer` that lie in it."""
        return [s for s in trace.slices if s.track == outer.track and s.name in names
                and outer.time <= s.time and s.end <= outer.end]

    def slices(self, trace, name):
        """Phases have names of their own, on a track of their own."""
        return [s for s in trace.slices if s.name == name
                and trace.tracks[s.track].name != "Phases"]

    def test_ranges_in_each_step(self):
        self.assertEqual(len(self.traces), 3)
        for trace in self.traces:
            for name in ("forward", "backward", "optimizer"):
                self.assertGreaterEqual(len(self.slices(trace, name)), 1, name)
            whole = [s for s in self.slices(trace, "forward")
                     if not {"begins_before_step", "ends_after_step"} & set(s.args)]
            for forward in whole:
                self.assertEqual(len(self.within(trace, forward, "aten::linear")), 10)
                self.assertEqual(len(self.within(trace, forward, "aten::relu")), 9)

    def test_autograd_nodes(self):
        for trace in self.traces:
            nodes = self.slices(trace, "AddmmBackward0")
            self.assertEqual(len(nodes), 10)
            main, = {trace.tracks[s.track].tid for s in self.slices(trace, "forward")}
            self.assertNotIn(main, {trace.tracks[s.track].tid for s in nodes})
            self.assertEqual([len(self.within(trace, node, "aten::mm")) > 0 for node in nodes],
                             [True] * 10)

    def test_the_report_has_the_kernel_sequences_of_nodes(self):
        """Nodes with both products list them, unlike what is around or within them. Stacks do not
        tell when an operator began."""
        rows = [s for s in self.process["kernel_sequences"] if s["operator"] == "AddmmBackward0"]
        self.assertAlmostEqual(sum(s["per_step"] for s in rows), 9, delta=1)
        for row in rows:
            self.assertGreaterEqual(len(row["kernels"]), 2)
        around = "autograd::engine::evaluate_function: AddmmBackward0"
        for row in self.process["kernel_sequences"]:
            if row["operator"] == around:
                self.assertNotIn(row["kernels"], [s["kernels"] for s in rows])
        delays = {d["name"]: d for d in self.process["operator_delays"]}
        self.assertIsNone(delays["aten::mm"]["to_launch_us"])
        self.assertIsNone(delays["aten::mm"]["to_work_us"])
        self.assertGreater(delays["aten::mm"]["launch_to_work_us"], 0)

    def test_calls_lie_in_their_operators(self):
        for trace in self.traces:
            calls = [s for s in trace.slices if "operator" in s.args]
            self.assertGreater(len(calls), 40)
            for call in calls:
                around = [s for s in trace.slices if s.track == call.track
                          and s.name == call.args["operator"]
                          and s.time <= call.time and call.end <= s.end]
                self.assertTrue(around, call.args["operator"])

    def test_lines(self):
        for trace in self.traces:
            lines = {s.args["line"] for s in trace.slices if "line" in s.args
                     and s.name != "forward"}
            mine = {line for line in lines if line.startswith("train.py:")}
            with open(TRAIN) as file:
                source = file.read().splitlines()
            said = {source[int(line.split(":")[1]) - 1].strip() for line in mine}
            self.assertLessEqual({"loss = nn.functional.mse_loss(model(inputs), targets)",
                                  "optimizer.step()"}, said)
            kernels = [s for s in trace.slices if s.name.startswith("void at::native::")
                       and "line" in s.args]
            self.assertTrue(kernels, "kernels name the line that launched them")

    def test_lines_of_the_backward_pass(self):
        """On autograd's threads no line of the program runs: a node's calls and kernels name the
        forward line that it belongs to."""
        with open(TRAIN) as file:
            source = file.read().splitlines()
        for trace in self.traces:
            for node in self.slices(trace, "AddmmBackward0"):
                calls = [s for s in trace.slices if s.track == node.track and node.time <= s.time
                         and s.end <= node.end
                         and "correlation" in s.args]
                numbers = {c.args["correlation"] for c in calls}
                kernels = [s for s in trace.slices if s.track != node.track
                           and s.args.get("correlation") in numbers]
                self.assertTrue(calls and kernels)
                said = {source[int(s.args["line"].split(":")[1]) - 1].strip()
                        for s in calls + kernels}
                self.assertEqual(said, {"loss = nn.functional.mse_loss(model(inputs), targets)"})


class AgainstTorchProfiler(TorchCase):
    """The same loop, once under profrun and once under torch.profiler with CUDA activity: both must
    see the same step."""

    def kernels_by_torch(self, path):
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        steps = [e for e in events if str(e.get("name", "")).startswith("ProfilerStep#")
                 and e.get("cat") == "user_annotation"]
        launches = {e["args"]["correlation"]: e for e in events
                    if e.get("cat") in ("cuda_runtime", "cuda_driver")
                    and "correlation" in e.get("args", {})}
        found = collections.defaultdict(list)
        for event in events:
            launch = (launches.get(event.get("args", {}).get("correlation"))
                      if event.get("cat") == "kernel" else None)
            for step in steps if launch else ():
                if step["ts"] <= launch["ts"] < step["ts"] + step["dur"]:
                    found[step["name"]].append((event["name"], event["dur"]))
        return list(found.values())

    def test_same_kernels_and_durations(self):
        out = os.path.join(self.base, "torch.json")
        theirs = self.train("--torch-profiler", out, profiled=False)
        self.assertEqual(theirs.status, 0, theirs.err)
        by_torch = self.kernels_by_torch(out)
        self.assertEqual(len(by_torch), 3)
        run = self.train(options=["--schedule", SCHEDULE])
        ours = run.journal()
        names = demangle(ours.kernel_name(k) for k in ours.gpu() if k.work == "kernel")
        by_us = [[(names[ours.kernel_name(k)], (ours.ns(k.end) - ours.ns(k.begin)) / 1e3)
                  for k in kernels_of(ours, b, e)]
                 for _, b, e in traced_steps(run)]
        self.assertEqual(len(by_us), 3)
        total = {"torch.profiler": [], "profrun": []}
        for who, steps in (("torch.profiler", by_torch), ("profrun", by_us)):
            for step in steps:
                total[who].append(sum(duration for _, duration in step))
        print("| step | kernels, torch.profiler | kernels, profrun | GPU us, torch.profiler "
              "| GPU us, profrun |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for i, (a, b) in enumerate(zip(by_torch, by_us)):
            print(f"| {i} | {len(a)} | {len(b)} | {total['torch.profiler'][i]:.1f} "
                  f"| {total['profrun'][i]:.1f} |")
        for a, b in zip(by_torch, by_us):
            self.assertEqual(collections.Counter(name for name, _ in a),
                             collections.Counter(name for name, _ in b))
        mean = {who: sum(values) / len(values) for who, values in total.items()}
        self.assertAlmostEqual(mean["profrun"] / mean["torch.profiler"], 1, delta=0.01)

    def test_both_at_once(self):
        """torch.profiler runs in the application while profrun records: torch's trace is complete,
        profrun's has a marked gap."""
        out = os.path.join(self.base, "both.json")
        run = self.train("--torch-profiler", out, options=["--schedule", "always"])
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("unknown buffer", run.err)
        by_torch = self.kernels_by_torch(out)
        self.assertEqual([len(step) for step in by_torch], [len(by_torch[0])] * 3)
        self.assertGreater(len(by_torch[0]), 40)
        journal = run.journal()
        states = [r.state for r in sorted(journal.of(4), key=lambda r: r.ticks)]
        self.assertIn("yielded", states)
        gone = states.index("yielded")
        self.assertIn("on", states[:gone])
        self.assertIn("on", states[gone:], "GPU timing did not resume")
        resumed = [r.ticks for r in journal.of(4) if r.state == "on"][-1]
        self.assertTrue([k for k in journal.gpu() if k.work == "kernel" and k.begin > resumed])


if __name__ == "__main__":
    unittest.main()
