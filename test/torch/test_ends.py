"""PyTorch programs that end with an exception, on the simulated GPU: what the report says of it."""
import os
import unittest

from sim_case import SimCase, report_of
from test_torch import HERE

SCHEDULE = "skip_first=10,wait=0,warmup=2,active=3,repeat=1"


class Ends(SimCase):
    def end_of(self, name, **settings):
        script = os.path.join(HERE, "ends", name)
        with open(script, encoding="utf-8") as file:
            lines = {text.split("# ")[1].strip(): number for number, text in enumerate(file, 1)
                     if "  # " in text}
        run = self.under_profrun([script], SCHEDULE, **settings)
        self.assertEqual(run.status, 1, run.err)
        report = report_of(run)
        return run, report["run"]["exit"], report["processes"][0], lines

    def test_out_of_memory_with_varying_lengths(self):
        run, end, process, lines = self.end_of("history.py", PROFSIM_MEMORY_MB=200,
                                               PROFSIM_KERNEL_US=20, PROF_STEP="sync")
        self.assertRegex(end["exception"], "^torch.OutOfMemoryError: CUDA out of memory")
        memory = end["out_of_memory"]
        self.assertEqual(memory["api"], "cudaMalloc")
        self.assertGreaterEqual(memory["bytes"], 1 << 20)
        self.assertIn(memory["line"], lines.values())
        first = process["memory"]["at_peak"][0]
        self.assertEqual((os.path.basename(first["file"]), first["line"]),
                         ("history.py", lines["kept"]))
        self.assertGreater(first["bytes"], 120 << 20)
        # 8 texts of 120 tokens, 512 scores of 2 bytes each
        self.assertAlmostEqual(process["memory"]["growth"]["bytes_per_step"], 8 * 120 * 512 * 2,
                               delta=250e3)
        self.assertIsNone(process["memory"]["growth"]["steps_left"])
        self.assertIn("Ended by torch.OutOfMemoryError: cudaMalloc of", run.err)

    def test_the_users_own_assertion(self):
        run, end, process, lines = self.end_of("assertion.py")
        self.assertEqual((end["status"], end["out_of_memory"], end["exception"]),
                         (1, None, "AssertionError: step 50 is too far"))
        self.assertEqual(end["line"], lines["fails"])
        self.assertNotIn("failure", process)
        self.assertRegex(" ".join(run.err.split()), r"Ended by AssertionError: step 50 is too far, "
                                                    r"at \S+, after step 50 began")


if __name__ == "__main__":
    unittest.main()
