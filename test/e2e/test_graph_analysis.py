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

    def test_only_the_longer_branch_is_worth_a_change(self):
        """Node 4 comes first, then 5 and 7 on one stream and 6 on another, then 8."""
        run, _ = self.record("two_streams")
        gains = {node: self.whatif(run, "--without", f"graph_nodes.cu:{lines()[node]}")
                 ["whole_line"]["gain_ms"] * 1000 for node in (4, 5, 6, 7, 8)}
        others = [gains[node] for node in (4, 5, 7, 8)]
        self.assertGreater(min(others), 0.8 * NODE_US, gains)
        # It is worth something only where the machine was busy and the simulated GPU late.
        self.assertLess(gains[6], 0.6 * min(others), gains)

    def test_a_line_without_nodes_is_refused(self):
        run, _ = self.record("one_stream")
        answer = self.tool("whatif", run.folder, "--without", "graph_nodes.cu:1")
        self.assertEqual(answer.status, 1)
        self.assertIn("nearest line with a call", answer.err)

    def test_tables_of_graphs(self):
        run, process = self.record("twice")
        graphs = process["graphs"]
        self.assertEqual(len(graphs), 3)
        self.assertEqual(sorted(row["nodes"] for row in graphs), [5, 5, 5])
        self.assertEqual(sorted(row["function"].split("(")[0] for row in graphs),
                         ["one_stream", "one_stream", "two_streams"])
        for row in graphs:
            self.assertAlmostEqual(row["launches_per_step"], 1, delta=0.1)
            self.assertIn("launch_all", row["launched_from"]["function"])
            self.assertGreater(row["gpu_ms_per_launch"], 3 * NODE_US / 1000)
            self.assertIsNone(row["ms_between_launches"])
        self.assertEqual(process["graph_steps"][0]["launches_most"], 3)

    def test_requests_and_steps_without_graphs(self):
        """Each fourth step launches no graph, the others one for the prompt and one to three for
        the tokens."""
        run, process = self.record("requests", 40)
        token, prompt = sorted(process["graphs"], key=lambda row: -row["launches_per_step"])
        self.assertIsNone(prompt["ms_between_launches"])
        self.assertGreater(token["ms_between_launches"], 0.99 * token["gpu_ms_per_launch"])
        with_graphs, without = process["graph_steps"]
        self.assertEqual(with_graphs["graphs"], sorted((token["graph"], prompt["graph"])))
        self.assertEqual((with_graphs["launches_least"], with_graphs["launches_most"]), (2, 4))
        self.assertEqual((without["graphs"], without["launches_most"]), ([], 0))
        self.assertAlmostEqual(with_graphs["steps"], 3 * without["steps"], delta=3)
        self.assertGreater(with_graphs["step_ms"], without["step_ms"])
        text = self.tool("report", run.folder).out
        numbers = ", ".join(map(str, with_graphs["graphs"]))
        self.assertRegex(text, rf"Steps by the CUDA graphs that they launch\n(.*\n)+?"
                               rf" *{with_graphs['steps']} +[\d.]+ +2 to 4 +{numbers}\n"
                               rf" *{without['steps']} +[\d.]+ +0 +none\n")
        self.assertRegex(text, r"launched from .*, every [\d.]+")

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
