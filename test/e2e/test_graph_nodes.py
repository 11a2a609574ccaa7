"""Calls that become nodes of CUDA graphs are recorded whatever the step does, and the application
notices nothing (test/prog/graph_nodes.cu)."""
import json
import os
import unittest

from harness import EVERYTHING, Case, prog
from journal import GRAPH, NODE

# Captured long before the recorded steps.
LATE = {"PROF_STEP": "sync", "PROF_OPENING": "off",
        "PROF_SCHEDULE": "skip_first=20,wait=0,warmup=1,active=3,repeat=1"}
STEPS = 40
WAYS = ("one_stream", "two_streams", "two_threads", "alike", "explicit", "added_child",
        "cloned", "twice", "anew", "updated", "broken")


class GraphNodes(Case):
    def completeness(self, way, **settings):
        run = self.profiled([prog("graph_nodes"), way, str(STEPS)], **settings)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json"), encoding="utf-8") as file:
            process, = json.load(file)["processes"]
        return process["completeness"]

    def test_every_kernel_has_a_captured_line(self):
        for way in WAYS:
            with self.subTest(way):
                found = self.completeness(way, **LATE)
                self.assertGreater(found["graph_kernels"], 0)
                self.assertEqual(found["graph_captured"], found["graph_kernels"],
                                 found["graph_why"])

    def test_without_stacks_there_are_no_lines(self):
        found = self.completeness("one_stream", PROF_STACKS="none", **LATE)
        self.assertEqual(found["graph_captured"], 0)
        self.assertIn("PROF_STACKS=none", found["graph_why"])

    def test_nodes_are_recorded_outside_recorded_steps(self):
        journal = self.preloaded([prog("graph_nodes"), "one_stream", "4"], PROF_OPENING="off",
                                 PROF_SCHEDULE="skip_first=1000").journal()
        nodes = journal.of(NODE)
        self.assertEqual([n.type for n in nodes],
                         ["kernel", "memset", "kernel", "memcpy", "kernel"])
        self.assertEqual([n.local for n in nodes], [0, 1, 2, 3, 4])
        self.assertTrue(all(n.stack for n in nodes))
        self.assertEqual([e.event for e in journal.of(GRAPH)],
                         ["made", "instantiated", "gone", "exec_gone"])

    def test_captured_calls_are_marked(self):
        journal = self.preloaded([prog("graph_nodes"), "two_streams", "4"], **EVERYTHING).journal()
        captured = [c for c in journal.calls() if c.is_captured]
        self.assertEqual([c.begin for c in captured], [n.begin for n in journal.of(NODE)])
        self.assertEqual(len(captured), 5)

    def test_the_application_notices_nothing(self):
        for way in WAYS:
            with self.subTest(way):
                command = [prog("graph_nodes"), way, "4"]
                bare, run = self.bare(command), self.preloaded(command, **EVERYTHING)
                self.assertEqual((run.status, run.out), (bare.status, bare.out))

    def test_journal_of_many_nodes(self):
        """10,000 nodes in 50 graphs take at most 1 MB of the journal, and a replay takes none."""
        journal = self.preloaded([prog("graph_nodes"), "many", "3"], PROF_OPENING="off",
                                 PROF_SCHEDULE="skip_first=1000").journal()
        self.assertEqual(len(journal.of(NODE)), 10000)
        records = 64 * len(journal.of(NODE)) + 32 * len(journal.of(GRAPH))
        stacks = sum(24 + 8 * len(s.own) for s in journal.stacks.values())
        self.assertLess(records + stacks, 1e6)


if __name__ == "__main__":
    unittest.main()
