"""What the report, what-if and folded stacks say about the nodes of CUDA graphs
(test/prog/graph_nodes.cu)."""
import glob
import json
import os
import re
import unittest

from harness import EVERYTHING, ROOT, Case, prog

SOURCE = os.path.join("test", "prog", "graph_nodes.cu")
NODE_US = 5


def lines():
    """Returns {number of a node's kernel: the line that captures it}."""
    with open(os.path.join(ROOT, SOURCE), encoding="utf-8") as file:
        marks = [(re.search(r"// node (\d+)", text), i + 1) for i, text in enumerate(file)]
    return {int(mark[1]): line for mark, line in marks if mark}


class GraphAnalysis(Case):
    SETTINGS = {**EVERYTHING, "PROF_STEP": "sync"}  # each replay is a step

    def record(self, way, steps=20):
        run = self.profiled([prog("graph_nodes"), way, str(steps)], **self.SETTINGS)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return run, process

    def whatif(self, run, *change):
        return json.loads(self.tool("whatif", run.folder, *change, "--json").out)

    def test_a_captured_line_is_removed(self):
        run, _ = self.record("one_stream")
        place = f"graph_nodes.cu:{lines()[2]}"
        answer = self.whatif(run, "--without", place)
        self.assertAlmostEqual(answer["gain_ms"], 0, places=3)
        whole = answer["whole_line"]
        # one kernel of each step, and its time: the CPU waits for the graph in each step
        self.assertAlmostEqual(whole["works_per_step"], 1, delta=0.1)
        self.assertLess(whole["calls_per_step"], 0.2)  # the capture itself is in the first step
        self.assertGreater(whole["gain_ms"], 0.8 * NODE_US / 1000)
        self.assertLess(whole["gain_ms"], 4 * NODE_US / 1000)
        twice = self.whatif(run, "--kernel", "node_5us<2>=0")
        self.assertAlmostEqual(twice["works_per_step"], 1, delta=0.1)
        self.assertGreater(twice["gain_ms"], 0.8 * NODE_US / 1000)

    def test_a_line_without_nodes_is_refused(self):
        run, _ = self.record("one_stream")
        answer = self.tool("whatif", run.folder, "--without", "graph_nodes.cu:1")
        self.assertEqual(answer.status, 1)
        self.assertIn("nearest line with a call", answer.err)

    def test_tables_of_graphs(self):
        _, process = self.record("twice")
        graphs = process["graphs"]
        self.assertEqual(len(graphs), 3)
        self.assertEqual(sorted(row["nodes"] for row in graphs), [5, 5, 5])
        self.assertEqual(sorted(row["function"].split("(")[0] for row in graphs),
                         ["one_stream", "one_stream", "two_streams"])
        for row in graphs:
            self.assertAlmostEqual(row["launches_per_step"], 1, delta=0.1)
            self.assertIn("launch_all", row["launched_from"]["function"])
            self.assertGreater(row["gpu_ms_per_launch"], 3 * NODE_US / 1000)

    def test_folded_stacks_are_those_of_the_capture(self):
        run, _ = self.record("one_stream")
        out = os.path.join(self.folder(), "out")
        self.tool("export", run.folder, "--format", "folded", "-o", out)
        text = ""
        for path in glob.glob(f"{out}/*/step-*.folded"):
            with open(path, encoding="utf-8") as file:
                text += file.read()
        for node in (1, 2, 3):
            self.assertTrue(re.search(rf"(?m)^GPU;.*;one_stream \(graph_nodes.cu:{lines()[node]}\);"
                                      rf".*;\[CUDA graph\];.*node_5us<{node}>.* \d+$", text), node)


if __name__ == "__main__":
    unittest.main()
