"""The lines at which the work of CUDA graphs was captured (test/graphs/captured.cu). The work
itself shows its line: by a kernel's name or shared memory, or by the number of bytes."""
import json
import os
import re
import unittest

from harness import EVERYTHING, Case, prog
from trace import Trace

NAMED = re.compile(r"\bat<(\d+)>")
PLACE = re.compile(r"^captured\.cu:(\d+) ")

# All work of these scenes comes from captures alone.
CAPTURED = ("alike_kernels", "capture_modes", "clones", "disabled_nodes", "exec_update",
            "failed_capture", "forked", "made_again", "many_graphs", "one_stream", "recaptured",
            "second_thread", "several_streams", "two_instantiations")
# In these, nodes were added or removed by themselves, or are in child graphs and bodies.
ADDED = ("capture_to_graph", "changed_clone", "child_graph", "conditional_nodes",
         "destroyed_nodes", "explicit_nodes", "nested_children")
# For the other ways of numbering nodes; see test/sim/README.md.
SOME = ("several_streams", "child_graph", "destroyed_nodes", "made_again", "many_graphs")
ALL = (*CAPTURED, *ADDED, "set_params")


def true_line(piece):
    """Returns the line that a piece of GPU work states."""
    found = NAMED.search(piece.name)
    if found:
        return int(found[1])
    return piece.args["dynamic_shared_bytes" if "alike<" in piece.name else "bytes"]


class GraphLines(Case):
    SETTINGS = {**EVERYTHING, "PROF_STEP": "sync"}  # each replay is a step

    def graph_work(self, scene, replays=12, **settings):
        """Runs a scene and returns its pieces of graph work, each with `true` and `named`."""
        run = self.profiled([prog("graphs/captured"), scene, str(replays)], **settings)
        self.assertEqual(run.status, 0, run.err)
        pieces = [piece for path in run.traces() for piece in Trace(path).slices
                  if piece.args.get("graph")]
        expected = int(re.search(r"graph work (\d+)", run.out)[1])
        self.assertEqual(len(pieces), expected, "pieces of graph work in the traces")
        for piece in pieces:
            place = piece.args.get("captured_at")
            piece.true = true_line(piece)
            piece.named = int(PLACE.match(place)[1]) if place else None
        return pieces

    def assert_none_wrong(self, pieces):
        wrong = {(p.name, p.true, p.named) for p in pieces if p.named not in (None, p.true)}
        self.assertEqual(wrong, set(), "(work, its line, the named line)")

    def assert_known(self, pieces):
        unknown = {(p.name, p.true) for p in pieces if p.named is None}
        self.assertEqual(unknown, set(), "(work without a named line, its line)")

    def test_captured_work_is_named(self):
        for scene in CAPTURED + ADDED:
            with self.subTest(scene):
                pieces = self.graph_work(scene)
                self.assert_none_wrong(pieces)
                self.assert_known(pieces)

    def test_new_parameters(self):
        self.assert_none_wrong(self.graph_work("set_params"))

    def test_numbers_from_one(self):
        for scene in SOME:
            with self.subTest(scene):
                self.assert_none_wrong(self.graph_work(scene, PROFSIM_GRAPH_IDS="from-1"))

    def test_numbers_with_gaps(self):
        for scene in SOME:
            with self.subTest(scene):
                self.assert_none_wrong(self.graph_work(scene, PROFSIM_GRAPH_IDS="gaps"))

    def test_bodies_with_numbers_of_their_own(self):
        for scene in ALL:
            with self.subTest(scene):
                pieces = self.graph_work(scene, PROFSIM_GRAPH_IDS="bodies-apart")
                self.assert_none_wrong(pieces)
                if scene != "set_params":
                    self.assert_known(pieces)

    def test_numbers_in_no_order(self):
        """If the kernels show that the numbers follow no order, no work of that graph is named, not
        even work that is the same as other work."""
        for scene in ALL:
            with self.subTest(scene):
                self.assert_none_wrong(self.graph_work(scene, PROFSIM_GRAPH_IDS="shuffled"))

    def test_driver_that_returns_the_numbers(self):
        for scene in ("one_stream", "alike_kernels", "several_streams", "clones", "many_graphs"):
            with self.subTest(scene):
                pieces = self.graph_work(scene, PROFSIM_GRAPH_IDS="shuffled", PROFSIM_DRIVER="13.1")
                self.assert_none_wrong(pieces)
                self.assert_known(pieces)


class GraphTables(Case):
    """Captured before the recorded steps; the tables count graph work at the captured line."""
    SETTINGS = {"PROF_STEP": "sync",
                "PROF_SCHEDULE": "skip_first=30,wait=0,warmup=2,active=5,repeat=1",
                "PROFSIM_KERNEL_US": "400"}

    def process(self, scene, replays=80):
        run = self.profiled([prog("graphs/captured"), scene, str(replays)], **self.SETTINGS)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return process

    def test_lines_have_the_time_of_their_kernels(self):
        for scene in ("one_stream", "several_streams"):
            with self.subTest(scene):
                process = self.process(scene)
                expected = {int(NAMED.search(kernel["name"])[1]): kernel["gpu_ms_per_step"]
                            for kernel in process["kernels"] if NAMED.search(kernel["name"])}
                lines = {row["line"]: row for row in process["lines"]
                         if row["file"] and row["file"].endswith("captured.cu")}
                self.assertGreaterEqual(len(expected), 3)
                for line, gpu_ms in expected.items():
                    self.assertIn(line, lines)
                    self.assertAlmostEqual(lines[line]["gpu_ms_per_step"], gpu_ms, places=2)
                    self.assertAlmostEqual(lines[line]["graph_gpu_ms_per_step"], gpu_ms, places=2)

    def test_launch_of_the_graph_has_no_gpu_time(self):
        process = self.process("one_stream")
        launches = [row for row in process["lines"] if "cudaGraphLaunch" in (row["source"] or "")]
        self.assertTrue(launches, process["lines"])
        self.assertEqual([row["gpu_ms_per_step"] for row in launches], [0] * len(launches))


if __name__ == "__main__":
    unittest.main()
