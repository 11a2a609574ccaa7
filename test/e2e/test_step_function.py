"""PROF_STEP=python:FILE-SUFFIX:FUNCTION: a step is a call of that function.

Runs with the Python that runs the tests.
"""
import unittest

from harness import PACED, Case, script
from trace import Trace

SCHEDULE = "skip_first=30,wait=0,warmup=1,active=2,repeat=1"
STEP_WORK = 27  # kernels: 9 forward, 13 backward, 5 of the optimizer
STEPS = 80


class StepFunction(Case):
    def steps(self, function, evaluate_every=0, decode=(), **settings):
        run = self.profiled([*script("python_steps.py"), str(STEPS), str(evaluate_every), *decode],
                            PROF_STEP=function, **{"PROF_SCHEDULE": SCHEDULE, **PACED, **settings})
        self.assertEqual((run.status, run.out), (0, f"{STEPS} steps\n"), run.err)
        (process,) = run.json["processes"]
        return run, process

    def work(self, path):
        return [s.name for s in sorted(Trace(path).on("Stream"), key=lambda s: s.time)
                if s.name.endswith("us")]

    def test_a_call_is_a_step(self):
        run, process = self.steps("python:prog/python_steps.py:Trainer.train_step")
        self.assertEqual(process["steps"]["boundary"], "function call", run.err)
        self.assertIn(process["steps"]["count"], (STEPS, STEPS - 1))
        self.assertEqual(len(run.trace_steps()), 2, run.err)
        for path in run.traces():
            names = self.work(path)
            self.assertEqual((len(names), names[0], names[-1]),
                             (STEP_WORK, "linear_forward_200us", "zero_grad_20us"))

    def test_evaluation_between_calls_is_no_step(self):
        run, process = self.steps("python:python_steps.py:train_step", evaluate_every=4)
        self.assertIn(process["steps"]["count"], (STEPS, STEPS - 1), run.err)
        self.assertEqual(len(run.trace_steps()), 2)

    def test_a_function_inside_the_step(self):
        """Launches outside the function separate its calls."""
        run, process = self.steps("python:python_steps.py:forward", evaluate_every=0)
        self.assertIn(process["steps"]["count"], (STEPS, STEPS - 1), run.err)
        for path in run.traces():
            names = self.work(path)
            self.assertEqual((len(names), names[0]), (STEP_WORK, "linear_forward_200us"))

    def test_iterations_of_a_loop_in_the_function_are_no_calls(self):
        run, process = self.steps("python:python_steps.py:decode", decode=["decode"])
        self.assertIn(process["steps"]["count"], (STEPS, STEPS - 1), run.err)

    def test_calls_that_are_nothing_but_iterations_of_a_loop(self):
        """Nothing is launched outside the loop, so its calls cannot be distinguished."""
        run, process = self.steps(
            "python:python_steps.py:decode", decode=["decode-alone"], PACE_MS=0
        )
        said = [line for line in run.own_lines()
                if "do not show where a call of this function ends" in line]
        self.assertEqual(len(said), 1, run.err)
        self.assertEqual(process["steps"]["detector"], "none")

    def test_a_function_that_is_never_called(self):
        for function in ("python:python_steps.py:never_called", "python:steps.py:train_step"):
            run, process = self.steps(function, PACE_MS=0)
            said = [line for line in run.own_lines()
                    if "no launch came from a function of that name" in line]
            self.assertEqual(len(said), 1, run.err)
            self.assertEqual(process["steps"]["detector"], "none")

    def test_without_frames(self):
        run, _ = self.steps("python:python_steps.py:train_step", PROF_PYTHON="off", PACE_MS=0)
        self.assertIn("PROF_PYTHON=off and PROF_STACKS=none are not set", run.err)

    def test_a_setting_that_names_no_function(self):
        for wrong in ("python:", "python:train.py", "python:train.py:", "python::f"):
            run = self.profiled([*script("python_steps.py"), "2", "0"], PROF_STEP=wrong)
            self.assertIn("python:train.py:train_step", run.err)


if __name__ == "__main__":
    unittest.main()
