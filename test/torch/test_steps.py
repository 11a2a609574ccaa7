"""Steps of real programs (test/torch/loops) are found where the programs mark them, with and
without Python frames.

Each run's figures are those of test/torch/steps.py; this says which of them must hold.
"""
import os
import subprocess
import tempfile
import unittest

import steps
from test_torch import python

# What is not right yet. A row goes as soon as it holds: what is right here fails the test.
NOT_YET = {
    # steps end after the critics: the actor's half, of every other step, counts for the next one
    "td3": {"place", "numbers"},
}
# From launches alone, layers that each read a value look like tokens, and the input batch looks
# like a prompt. With a closure that the optimizer evaluates repeatedly, each evaluation, with the
# part of the optimizer that follows, looks like a step.
NOT_YET_WITHOUT_FRAMES = {name: {"count", "period", "place", "numbers"}
                          for name in ("hooked_layers", "lbfgs", "lbfgs_search")}
# Number of calls by which a boundary may differ from the mark.
# gan: both optimizers launch the same kernels, so no three launches end only its iteration; its
# last two launches show that the last one is over.
# heads: only the trunk runs in every step, whatever the head.
# continuous_batching: what comes in every iteration of such a server is reading the last answer and
# feeding the next input.
# per_parameter: a loop over parameters ends with launches that most of them have.
# sac: the end of an iteration, with one network's step or another's, is detected from how the next
# one begins.
# speculative: a round of drafts ends where the host reads how many are right; one launch follows.
LATE = {"gan": 1, "sac": 1, "heads": 3, "continuous_batching": 1, "per_parameter": 1,
        "speculative": -1}
# Where no frames show when the loop repeats, a step ends with its optimizer. GradScaler.update's
# single launch, and an average of the weights, come after that. With several optimizers the step
# ends with the one after which most is launched, the generator's.
LATE_WITHOUT_FRAMES = {"transformer": -1, "averaging": -9, "three_losses": 103}
# second_model: its first steps, before the end of the first model's is detected, are not seen; some
# more are added afterwards, without a begin. The numbers continue from the last step that was seen.
# evaluation_first: the training's first steps are counted as evaluation steps until those are known
# to have stopped.
UNSEEN = {"second_model": 12, "evaluation_first": 50}
TOLD_LATER = {"second_model": 0.6, "evaluation_first": 0.65}
# Iterations of the same work before the loop: eager ones, or of another loop.
SETTING_UP = {"graph_replay": 3, "evaluation_first": 200}
MISNUMBERED = 1  # the armed part may begin in the middle of a step
NEEDS = {"trainer": "transformers", "compiled": "triton"}


def setUpModule():
    steps.PYTHON = python()


def has_module(name):
    return not subprocess.run([steps.PYTHON, "-c", f"import {name}"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode


def lacks(name):
    """The module without which the program cannot run and that cannot be imported, or None."""
    return NEEDS[name] if name in NEEDS and not has_module(NEEDS[name]) else None


def wrong(found):
    """What does not hold, of what NOT_YET has rows for."""
    without_frames = LATE_WITHOUT_FRAMES if found.frames == "no frames" else {}
    late, least = {**LATE, **without_frames}.get(found.name, 0), TOLD_LATER.get(found.name, 1)
    checks = {"count": found.count - found.n_true in range(-UNSEEN.get(found.name, 0),
                                                           1 + SETTING_UP.get(found.name, 0)),
              "period": found.one_per_step >= least,
              "place": found.in_place >= least or (late != 0 and found.late == late),
              "numbers": found.misnumbered <= MISNUMBERED or found.name in UNSEEN}
    return {what for what, holds in checks.items() if not holds}


class StepsOfRealPrograms(unittest.TestCase):
    def check(self, name, frames):
        if lacks(name):
            self.skipTest(f"{lacks(name)} cannot be imported (test/torch/setup.sh installs it)")
        with tempfile.TemporaryDirectory(prefix="profrun-steps-") as folder:
            found = steps.run(name, frames, folder)
        self.assertIsInstance(found, steps.Found, found)
        print(found.row())
        self.assertEqual(found.detector, "auto")
        not_yet = {**NOT_YET, **(NOT_YET_WITHOUT_FRAMES if frames == "no frames" else {})}
        self.assertEqual(wrong(found), not_yet.get(name, set()), found.row())

    def test_every_program_is_tried(self):
        tried = {name for name in dir(self) if name.startswith("test_")}
        for name in steps.programs():
            for frames in steps.FRAMES:
                self.assertIn(method(name, frames), tried)


def method(name, frames):
    return f"test_{name}_with_{frames.replace(' ', '_')}"


for _name in steps.programs():
    for _frames in steps.FRAMES:
        setattr(StepsOfRealPrograms, method(_name, _frames),
                lambda self, n=_name, f=_frames: self.check(n, f))

if __name__ == "__main__":
    unittest.main()
