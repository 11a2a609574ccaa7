"""C++ exceptions of a program whose calls are recorded with their stacks: libunwind is in the process, and must not be in their way."""
import os
import subprocess
import unittest

from harness import EVERYTHING, Case, prog

SETTINGS = {**EVERYTHING, "PROF_STEP": "time:60000", "PROF_STACKS": "all"}


class Exceptions(Case):
    def test_still_unwound_by_the_compilers_library(self):
        run = self.preloaded([prog("throws"), "100"], **SETTINGS)
        self.assertEqual(run.status, 0, run.err)
        caught, library, _ = run.out.split()
        self.assertEqual((caught, library), ("100", "libgcc_s.so.1"))
        self.assertTrue([r for r in run.journal().calls() if r.stack], "no call was recorded with a stack")

    def test_what_the_loader_bound_them_to(self):
        """The loader's own account, since a symbol may be found one way by dlsym and be bound another."""
        run = self.preloaded([prog("throws"), "1"], **SETTINGS, LD_DEBUG="bindings")
        bound = [line for line in run.err.splitlines() if "normal symbol `_Unwind_RaiseException'" in line]
        self.assertTrue(bound)
        for line in bound:
            self.assertRegex(line, r" to \S*libgcc_s\.so\.1 ")
        self.assertIn("libunwind-", run.err, "libunwind was never opened: nothing has been shown")


if __name__ == "__main__":
    unittest.main()
