"""test/run.py --again: programs that failed run once more, alone."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import run  # noqa: E402

FIRST_TIME = "echo ok - one; [ -e {0} ] && echo ok - two || echo not ok - two; : > {0}"
EACH_TIME = "echo ok - one; echo not ok - two"


class Again(unittest.TestCase):
    def outcome(self, *scripts, most=3):
        """Returns the exit status and what is printed at the end."""
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) \
                as printed:
            programs = [run.Program(f"p{i}", ["sh", "-c", text.format(f"{folder}/{i}")], 60)
                        for i, text in enumerate(scripts)]
            reports = run.run_all(programs, 2, False)
            status = run.conclude(run.run_again(reports, programs, most, False), 0)
        return status, printed.getvalue()

    def test_a_program_that_passes_alone_is_unstable(self):
        status, printed = self.outcome(FIRST_TIME)
        self.assertEqual(status, 0)
        self.assertIn("\nUNSTABLE p0: two (failed among other programs, passed alone)\n", printed)
        self.assertTrue(printed.endswith("\n2 passed, 0 failed\n"), printed)

    def test_a_program_that_fails_again_has_failed(self):
        status, printed = self.outcome(EACH_TIME, FIRST_TIME)
        self.assertEqual(status, 1)
        self.assertTrue(printed.endswith("\n3 passed, 1 failed\n"), printed)
        self.assertNotIn("UNSTABLE p0", printed)

    def test_many_failures_are_not_repeated(self):
        status, printed = self.outcome(FIRST_TIME, FIRST_TIME, most=1)
        self.assertEqual(status, 1)
        self.assertNotIn("again, alone", printed)


if __name__ == "__main__":
    unittest.main()
