"""The default way of pairing, by order, against CUPTI's ids: the same journal, read both ways."""
import os
import shutil
import unittest

from harness import EVERYTHING, Case, prog
from journal import API, EXTERNAL
from trace import Trace

STEPS = {"PROF_STEP": "kernel:first_10us", **EVERYTHING}


class Pairing(Case):
    def arrows(self, run):
        """Of all traces of the run: (when the call began, on which track, when its work began)."""
        self.assertEqual(self.tool("export", run.folder).status, 0)
        found = set()
        for trace in map(Trace, run.traces()):
            calls = dict(trace.flows_out)
            found |= {(calls[flow].time, calls[flow].track, work.time) for flow, work in trace.flows_in}
        shutil.rmtree(os.path.join(run.folder, "traces"))
        return found

    def forget_ids(self, run):
        """Makes the journal one of a run whose calls CUPTI did not record."""
        (path,) = run.paths("journal/*.journal")
        journal = run.journal()
        with open(path, "r+b") as file:
            file.seek(journal.data.find(b"pairing\0external\0") + len(b"pairing\0"))
            file.write(b"order".ljust(len("external"), b"\0"))
            for record in journal.of(EXTERNAL) + journal.of(API):
                file.seek(record.at)
                file.write(b"\xff")  # a kind that nobody knows

    def both_ways(self, command, **settings):
        run = self.preloaded(command, PROF_PAIRING="external", **settings)
        self.assertEqual(run.status, 0, run.err)
        by_id = self.arrows(run)
        self.forget_ids(run)
        return by_id, self.arrows(run)

    def test_a_run_as_one(self):
        by_id, by_order = self.both_ways([prog("loop"), "40"], **EVERYTHING)
        self.assertEqual(len(by_id), 2 + 40 * 6)
        self.assertEqual(by_order, by_id)

    def test_steps(self):
        by_id, by_order = self.both_ways([prog("loop"), "40"], **STEPS)
        self.assertGreater(len(by_id), 39 * 6)
        self.assertEqual(by_order, by_id)

    def test_steps_that_run_ahead_of_the_gpu(self):
        """Nothing waits: a step's work begins long after the step has ended, and that of many steps is held at once."""
        by_id, by_order = self.both_ways([prog("loop"), "100", "bare"], PROFSIM_KERNEL_US="50", **STEPS)
        self.assertGreater(len(by_id), 99 * 4)
        self.assertEqual(by_order, by_id)

    def test_graphs(self):
        by_id, by_order = self.both_ways([prog("loop"), "40", "graph"], **EVERYTHING)
        self.assertGreater(len(by_id), 40 * 3)
        self.assertEqual(by_order, by_id)

    def test_sixteen_threads(self):
        """Their launches are twins on one stream: which of two at the same moment is whose cannot be told, but each has one."""
        by_id, by_order = self.both_ways([prog("threads"), "many"], **EVERYTHING)
        self.assertEqual(len(by_id), 16 * 102)
        self.assertEqual(len(by_order), len(by_id))
        self.assertEqual({call[:2] for call in by_order}, {call[:2] for call in by_id})


if __name__ == "__main__":
    unittest.main()
