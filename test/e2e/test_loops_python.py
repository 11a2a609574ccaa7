"""Steps that are iterations of a loop in Python programs without a framework: the kinds of
test/cases/loops.py, in each CPython here where the version matters.
"""
import json
import os
import re
import sys
import unittest

from harness import Case, ROOT
from test_python_frames import INTERPRETERS

PROGRAM = os.path.join(ROOT, "test", "cases", "loops.py")
STEPS = 60
VERSIONS = [f"3.{minor}" for minor in range(8, 16)]
EXCEPTIONS = ["guarded", "guarded_failing", "skipped", "halved", "suppressed", "inside_handler"]


def line_of(kind):
    """Returns the line of the loop whose iterations are the steps, or of what it calls."""
    with open(PROGRAM, encoding="utf-8") as file:
        text = file.read()
    mark = re.search(f"# step of {kind}$", text, re.M)
    if not mark:
        begin = text.index("\ndef %s(" % kind)
        mark = re.compile("# step$", re.M).search(text, begin)
    return text.count("\n", 0, mark.start()) + 1


class PythonLoops(Case):
    def steps(self, kind, python=sys.executable, **settings):
        run = self.profiled([python, PROGRAM, kind], **settings)
        self.assertEqual(run.status, 0, run.err)
        with open(os.path.join(run.folder, "report.json")) as file:
            (process,) = json.load(file)["processes"]
        return process["steps"]

    def check(self, kind, python=sys.executable, **settings):
        steps = self.steps(kind, python, **settings)
        loop = steps["loop"]
        self.assertEqual((steps["count"], loop["iterations"], os.path.basename(loop["file"]),
                          loop["line"]), (STEPS, STEPS, "loops.py", line_of(kind)))

    def test_a_handler_is_in_the_loop_that_it_continues(self):
        for kind in EXCEPTIONS:
            with self.subTest(kind):
                self.check(kind)

    def test_retries_are_no_steps_in_any_version(self):
        for version, paths in INTERPRETERS.items():
            if version in VERSIONS:
                with self.subTest(version):
                    self.check("retries", paths[0][1])

    def test_retries_that_cannot_be_seen_are_not_claimed(self):
        steps = self.steps("attempts")
        self.assertTrue(steps["count"] == STEPS or steps["confidence"] < 0.7, steps)

    def test_the_line_of_while(self):
        for kind in "while_true", "while_condition", "while_lines", "while_with":
            with self.subTest(kind):
                self.check(kind)

    def test_a_loop_of_the_standard_library_is_named_by_what_it_calls(self):
        for kind in "pool", "server":
            with self.subTest(kind):
                self.check(kind)

    def test_a_loop_that_starts_a_thread_in_each_iteration(self):
        for kind in "thread_each", "prefetched":
            with self.subTest(kind):
                self.check(kind)

    def test_a_loop_that_starts_several_threads(self):
        """Before 3.13, a join cannot be seen. So all calls may be on threads of one iteration."""
        for kind in "threads_each", "pool_each":
            with self.subTest(kind):
                steps = self.steps(kind)
                self.assertTrue(steps["count"] == STEPS or (steps["confidence"] or 0) < 0.7, steps)
                if "3.13" in INTERPRETERS:
                    self.check(kind, INTERPRETERS["3.13"][0][1])

    def test_built_in_functions_that_call_several_times(self):
        for kind in "built_ins_first", "one_built_in_first", "built_in_alone":
            with self.subTest(kind):
                self.check(kind)

    def test_calls_that_not_all_iterations_make(self):
        """Before 3.11, each call of Python code goes through C, as one by map() does."""
        self.assertGreaterEqual(sys.version_info, (3, 11))
        for kind in "logged", "logged_late":
            with self.subTest(kind):
                self.check(kind)

    def test_calls_of_a_function_in_c_are_no_iterations(self):
        self.check("mapped_late")

    def test_iterations_that_may_be_calls_of_a_built_in_function_are_unclear(self):
        self.assertLess(self.steps("built_in_or_not")["confidence"], 0.7)

    def test_the_call_that_finds_the_end_is_no_iteration(self):
        for kind in "last_look", "last_look_then_more", "last_test":
            with self.subTest(kind):
                self.check(kind)

    def test_time_after_a_loop_is_not_time_in_the_loop(self):
        steps = self.steps("after_a_short_loop")
        self.assertEqual(steps["count"], STEPS)
        for loop in steps["loop"]["others"]:
            self.assertLess(loop["share"], 0.3, loop)

    def test_loops_decide_if_every_step_is_recorded(self):
        for kind in "guarded", "inside_handler", "while_with", "pool", "thread_each":
            with self.subTest(kind):
                self.check(kind, PROF_SCHEDULE="always")

    def test_the_threads_of_a_pool_belong_to_no_iteration(self):
        steps = self.steps("pool_for_all")
        self.assertEqual(steps["count"], STEPS)
        self.assertGreater(steps["confidence"], 0.9)


if __name__ == "__main__":
    unittest.main()
