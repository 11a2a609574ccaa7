"""C++ exceptions of a program whose calls are recorded with their stacks.

libunwind is in the process and must not change how they are unwound.
"""
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
        self.assertTrue([r for r in run.journal().calls() if r.stack],
                        "no call was recorded with a stack")

    def test_the_loader_binds_them_to_libgcc(self):
        """From the loader's debug output: dlsym and binding may find different symbols."""
        run = self.preloaded([prog("throws"), "1"], **SETTINGS, LD_DEBUG="bindings")
        bound = [line for line in run.err.splitlines()
                 if "normal symbol `_Unwind_RaiseException'" in line]
        self.assertTrue(bound)
        for line in bound:
            self.assertRegex(line, r" to \S*libgcc_s\.so\.1 ")
        self.assertIn("libunwind-", run.err, "libunwind was never opened: nothing was tested")


if __name__ == "__main__":
    unittest.main()
