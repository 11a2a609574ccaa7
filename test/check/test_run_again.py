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
TWICE = """
import os, unittest
class Twice(unittest.TestCase):
    def test_once(self):
        os.mkdir("{0}/once")
    def test_twice(self):
        if not os.path.exists("{0}/twice"):
            os.mkdir("{0}/twice")
            self.fail()
"""
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


    def test_of_a_file_only_what_failed_runs_again(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) \
                as printed:
            path = os.path.join(folder, "test_twice.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(TWICE.format(folder))
            program = run.Program("twice", [sys.executable, run.__file__, "--unittest", path,
                                            "Twice", "60", ""], 120, True)
            reports = run.run_all([program], 1, False)
            self.assertEqual(len(reports[0].failed), 1, reports[0].output)
            status = run.conclude(run.run_again(reports, [program], 3, False), 0)
        self.assertEqual(status, 0, printed.getvalue())
        self.assertTrue(printed.getvalue().endswith("\n2 passed, 0 failed\n"), printed.getvalue())


if __name__ == "__main__":
    unittest.main()
