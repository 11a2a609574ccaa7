"""CUDA graphs of real PyTorch on the simulated GPU: the line, operator and module of every kernel,
and the GPU time of each of these, equal those of the same model run without graphs."""
import os
import unittest

import graph_kernels

from sim_case import SimCase, report_of
from test_torch import HERE
from trace import Trace

SCRIPTS = os.path.join(HERE, "graphs")
UNKNOWN = 0.02  # of the GPU time, and of the pieces of GPU work
ROUNDING_MS = 0.001
# Of the mean per step, if the steps differ and the two runs record another number of them.
OTHER_STEPS = 0.05
TRIES = 3
COPY_INPUTS = "aten::_foreach_copy_"


def module_times(process):
    return {row["name"]: row["gpu_ms_per_step"] + row["backward_gpu_ms_per_step"]
            for row in process["modules"]}


def operator_times(process):
    return {row["name"]: row["self_gpu_ms_per_step"] for row in process["operators"]}


def line_times(process):
    times = {}
    for row in process["lines"]:
        key = os.path.basename(row["file"] or ""), row["line"]
        times[key] = times.get(key, 0) + row["gpu_ms_per_step"]
    return times


def flops(process):
    """Returns the operations per step of each operator, line and kernel."""
    rows = [(row["name"], row) for kind in ("operators", "kernels") for row in process[kind]]
    rows += [((row["file"], row["line"]), row) for row in process["lines"]]
    counts = {}
    for key, row in rows:
        counts[key] = counts.get(key, 0) + (row["flops"] or 0)
    return {key: count for key, count in counts.items() if count}


class Graphs(SimCase):
    def run_once(self, command, skip, active):
        """Returns a run all of whose recorded launches have their GPU work."""
        for _ in range(TRIES):
            run, process = self.try_once(command, skip, active)
            counts = process["completeness"]
            if counts["launches"] == counts["captured"] > 0:
                return run, process
        return self.fail(f"{command}: {counts}")

    def try_once(self, command, skip, active):
        run = self.under_profrun([os.path.join(SCRIPTS, command[0]), *map(str, command[1:])],
                                 f"skip_first={skip},wait=0,warmup=2,active={active},repeat=1",
                                 PROF_STEP="sync", PROFSIM_KERNEL_US=30)
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        return run, process

    def assert_work_is_named(self, run):
        pieces = [piece for path in run.traces() for piece in Trace(path).slices
                  if piece.args.get("graph")]
        self.assertGreater(len(pieces), 0)
        unknown = [piece.name for piece in pieces if not piece.args.get("captured_at")]
        self.assertLessEqual(len(unknown), UNKNOWN * len(pieces), set(unknown))

    def assert_same(self, plain, graphed, what, more_ms=0):
        """No key may have more GPU time than without graphs; only a little may be missing.

        more_ms: of work that only the graphs have."""
        wrong = {key: (ms, plain.get(key, 0)) for key, ms in graphed.items()
                 if ms > plain.get(key, 0) * 1.01 + ROUNDING_MS + more_ms}
        self.assertEqual(wrong, {}, f"{what}: (ms with graphs, ms without)")
        missing = {key: (graphed.get(key, 0), ms) for key, ms in plain.items()
                   if graphed.get(key, 0) < ms * (1 - UNKNOWN) - ROUNDING_MS}
        self.assertEqual(missing, {}, f"{what}: (ms with graphs, ms without)")

    def assert_same_flops(self, plain, graphed):
        self.assertEqual(plain.keys(), graphed.keys())
        self.assertGreater(len(plain), 0)
        for key, count in plain.items():
            self.assertAlmostEqual(graphed[key], count, delta=OTHER_STEPS * count, msg=key)

    def assert_every_kernel(self, plain_run, run):
        plain, _ = graph_kernels.kernels_of(plain_run)
        _, in_graphs = graph_kernels.kernels_of(run)
        right, wrong, unknown, without = graph_kernels.compare(plain, in_graphs)
        self.assertEqual(wrong, [])
        self.assertGreater(right, 0)
        self.assertLessEqual(unknown, UNKNOWN * len(in_graphs))
        self.assertEqual(right + unknown + without, len(in_graphs))

    def compare(self, plain_command, graph_command, skip, active=6, has_same_kernels=True):
        """Runs both and compares the modules' time. Returns the reports."""
        plain_run, plain = self.run_once(plain_command, skip, active)
        run, graphed = self.run_once(graph_command, skip, active)
        self.assert_work_is_named(run)
        if has_same_kernels:
            self.assert_every_kernel(plain_run, run)
        self.assertGreater(sum(module_times(plain).values()), 0)
        self.assert_same_flops(flops(plain), flops(graphed))
        more_ms = self.copied_inputs_ms(graphed)
        self.assert_same(module_times(plain), module_times(graphed), "modules", more_ms)
        return plain, graphed

    @staticmethod
    def copied_inputs_ms(graphed):
        """Returns the time of copying the inputs to where torch.compile's graphs read them."""
        return operator_times(graphed).get(COPY_INPUTS, 0)

    def assert_tables_are_equal(self, plain, graphed):
        more_ms, operators = self.copied_inputs_ms(graphed), operator_times(graphed)
        operators.pop(COPY_INPUTS, None)
        self.assert_same(operator_times(plain), operators, "operators")
        self.assert_same(line_times(plain), line_times(graphed), "lines", more_ms)

    def compare_models(self, model, plain, graphed, steps=100, skip=60, **more):
        return self.compare(("models.py", model, plain, steps),
                            ("models.py", model, graphed, steps), skip, **more)

    def test_graph(self):
        for model in ("mlp", "block", "conv", "train"):
            with self.subTest(model):
                self.assert_tables_are_equal(*self.compare_models(model, "eager", "graph"))

    def test_make_graphed_callables(self):
        self.assert_tables_are_equal(*self.compare_models("block", "eager", "made"))

    def test_make_graphed_callables_to_train(self):
        """The backward pass was captured by another line than the one that runs it, and adds up the
        gradients by other kernels."""
        _, graphed = self.compare_models("train", "eager", "made", has_same_kernels=False)
        lines = line_times(graphed)
        unknown = sum(ms for (_, line), ms in lines.items() if not line)
        self.assertLessEqual(unknown, UNKNOWN * sum(lines.values()), lines)

    def test_reduce_overhead(self):
        self.assert_tables_are_equal(*self.compare_models("block", "compiled", "reduce", 200, 200))

    def test_backend_cudagraphs(self):
        plain, graphed = self.compare_models("block", "aot", "cudagraphs")
        self.assert_tables_are_equal(plain, graphed)

    def test_graph_for_each_batch_size(self):
        # whole requests of a prompt and eight tokens, wherever the recording begins
        self.assert_tables_are_equal(*self.compare(("decoder.py", "eager", 24),
                                                   ("decoder.py", "graph", 24), 72, 27))

    def test_engine_with_padded_batches(self):
        # whole rounds of the six sizes of batches
        self.compare(("engine.py", "eager", 60), ("engine.py", "graph", 60), 30, 12)

    def test_piecewise_graphs(self):
        self.compare(("piecewise.py", "eager", 80), ("piecewise.py", "graph", 80), 60)

    def test_captured_decoding_with_static_cache(self):
        self.assert_tables_are_equal(*self.compare(("static_cache.py", "eager", 60),
                                                   ("static_cache.py", "graph", 60), 30))

    def test_ids_in_no_order(self):
        """The driver numbers the nodes in another way than we know: no kernel gets a wrong name."""
        command = [os.path.join(SCRIPTS, "models.py"), "train"]
        schedule = "skip_first=60,wait=0,warmup=2,active=3,repeat=1"
        settings = {"PROF_STEP": "sync", "PROFSIM_KERNEL_US": 30}
        plain = self.under_profrun([*command, "eager", "100"], schedule, **settings)
        run = self.under_profrun([*command, "graph", "100"], schedule,
                                 PROFSIM_GRAPH_IDS="shuffled", **settings)
        _, in_graphs = graph_kernels.kernels_of(run)
        _, wrong, unknown, _ = graph_kernels.compare(graph_kernels.kernels_of(plain)[0], in_graphs)
        self.assertEqual(wrong, [])
        self.assertGreater(unknown, 0)

    def test_generate_with_static_cache(self):
        """Without graphs, the compiled code has other modules from run to run."""
        run, graphed = self.run_once(("generate.py", "reduce-overhead", 80), 110, 6)
        self.assert_work_is_named(run)
        lines = line_times(graphed)
        unknown = sum(ms for (_, line), ms in lines.items() if not line)
        self.assertLessEqual(unknown, UNKNOWN * sum(lines.values()), lines)


class Steps(SimCase):
    """Short programs with the default settings: the steps, their loop and their GPU times."""

    def loop_of(self, pattern, script):
        with open(os.path.join(SCRIPTS, script), encoding="utf-8") as file:
            return next(i + 1 for i, text in enumerate(file) if pattern in text)

    def record(self, script, *arguments, **settings):
        run = self.under_profrun([os.path.join(SCRIPTS, script), *map(str, arguments)],
                                 "skip_first=10,wait=0,warmup=2,active=3,repeat=1", **settings)
        self.assertEqual(run.status, 0, run.err)
        process, = report_of(run)["processes"]
        self.assertEqual(process["completeness"]["graph_captured"],
                         process["completeness"]["graph_kernels"])
        self.assertGreater(process["completeness"]["graph_kernels"], 0)
        return process["steps"]

    def test_replays_of_a_training_step(self):
        """The eager warm-up has the same optimizer and takes longer than all replays."""
        steps = self.record("models.py", "train", "graph", 80)
        self.assertEqual(steps["count"], 80)
        self.assertEqual(steps["loop"]["line"],
                         self.loop_of("for number in range(steps)", "models.py"))
        self.assertGreater(steps["confidence"], 0.9)

    def test_replays_alone(self):
        """Each iteration only replays. pybind11 calls replay() in a loop over its overloads."""
        steps = self.record("replays.py", 60)
        self.assertEqual(steps["count"], 60)
        self.assertEqual(steps["loop"]["line"], self.loop_of("in range(replays)", "replays.py"))

    def test_steps_that_need_not_be_learned(self):
        """They are known before the captures are over, but the opening goes on until GPU timing
        has begun again."""
        self.assertGreater(self.record("models.py", "mlp", "graph", 8, PROF_STEP="sync")["count"],
                           8)

    def test_requests_of_a_decoder(self):
        """Tokens are replays of a graph for each batch size, prompts run without a graph."""
        steps = self.record("decoder.py", "graph", 24)
        requests, tokens = (self.loop_of(text, "decoder.py")
                            for text in ("in range(requests)", "in range(TOKENS)"))
        self.assertEqual(steps["loop"]["line"], requests)
        self.assertEqual(steps["loop"]["instead"]["line"], tokens)
        self.assertEqual(steps["count"], 24)


if __name__ == "__main__":
    unittest.main()
