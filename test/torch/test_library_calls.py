"""torch.linalg, sparse matrices, semi-structured sparsity and transforms. The program prints what
it prints alone. Each call's kernels are in the trace, with an arrow from within the call, as in the
simulated GPU's own account."""
import os
import re
import unittest

from sim_case import SimCase
from test_torch import HERE, demangle
from harness import truth  # found through test_torch
from trace import Trace

PROGRAM = ["-W", "ignore", os.path.join(HERE, "library_calls.py"), "3"]
SCHEDULE = "skip_first=1,wait=0,warmup=0,active=1,repeat=1"
EIG_US = 300


class LibraryCalls(SimCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case, account = cls("test_prints_what_it_prints_alone"), os.path.join(cls.base, "truth")
        cls.bare = case.alone(PROGRAM)
        cls.run_ = case.under_profrun(PROGRAM, SCHEDULE, "--step", "nvtx:sweep",
                                      PROFSIM_TRUTH=account, PROFSIM_KERNEL_TIMES=f"Xgeev={EIG_US}")
        cls.rows = [line.split("\t") for line in cls.run_.out.splitlines()]
        cls.trace = Trace(*cls.run_.traces_in_order())
        cls.work = [row for row in truth(account) if row.work == "kernel"]
        cls.names = demangle(row.name for row in cls.work)

    def test_prints_what_it_prints_alone(self):
        self.assertEqual((self.bare.status, self.bare.err), (0, ""))
        self.assertEqual((self.run_.status, self.run_.out), (0, self.bare.out), self.run_.err)
        self.assertGreater(len(self.rows), 200)

    def is_sampled(self, span):
        return self.trace.tracks[span.track].name.startswith("Samples")

    def launched(self, name):
        """The kernels that calls within the range of this name have arrows to."""
        span, = (s for s in self.trace.slices if s.name == name and not self.is_sampled(s))
        arrows = dict(self.trace.flows_in)
        found = [arrows[flow] for flow, call in self.trace.flows_out if flow in arrows
                 and span.time <= call.time < span.end
                 and "aunchKernel" in call.name]
        return span, sorted(found, key=lambda kernel: kernel.time)

    def test_each_call_has_its_kernels(self):
        for name, libraries, _ in self.rows:
            with self.subTest(call=name):
                span, kernels = self.launched(name)
                expected = sorted((row for row in self.work if span.time <= row.start < span.end),
                                  key=lambda row: row.start)
                self.assertEqual([kernel.name for kernel in kernels],
                                 [self.names[row.name] for row in expected])
                self.assertTrue(any(re.search(libraries, kernel.name) for kernel in kernels),
                                [kernel.name for kernel in kernels])

    def test_on_the_requested_stream(self):
        self.assertEqual(len({kernel.track for name, _, _ in self.rows
                              for kernel in self.launched(name)[1]}), 1)

    def test_takes_the_configured_time(self):
        lengths = [kernel.end - kernel.time for kernel in self.trace.slices
                   if "Xgeev" in kernel.name and "Stream" in
                   self.trace.tracks[kernel.track].name]
        self.assertGreater(len(lengths), 16)
        for length in lengths:
            self.assertAlmostEqual(length / 1e3, EIG_US, delta=0.1)


if __name__ == "__main__":
    unittest.main()
