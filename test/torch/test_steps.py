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

# From launches alone, the steps of these programs cannot be told, and which ones are found depends
# on how fast the collector reads. So they are right, or the step is unclear.
# hooked_layers: layers that each read a value look like tokens, and the input batch like a prompt.
# lbfgs: each evaluation of the closure, with the part of the optimizer that follows, looks like a
# step.
# evaluation_first: until the optimizer runs, the batches of the evaluation look like steps.
# checkpoints: a checkpoint after every second step looks like the end of a step of two parts.
# heads: the steps have little in common, so the first ones may be missed or counted twice.
# td3: the actor's half, of every other step, counts for the next one.
# second_model: the steps of the first model are counted only if they are found before they end.
# three_losses: the launches seen first decide after which optimizer a step ends.
UNCLEAR_WITHOUT_FRAMES = {"hooked_layers", "lbfgs", "lbfgs_search", "evaluation_first",
                          "checkpoints", "heads", "td3", "second_model", "three_losses"}
UNCLEAR = 0.7  # with a lower confidence, the report calls the step unclear
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


def may_be_wrong(found):
    """Whether the report does not claim the steps, and nobody could tell them."""
    return (found.frames == "no frames" and found.name in UNCLEAR_WITHOUT_FRAMES
            and (found.confidence or 0) < UNCLEAR)


def wrong(found):
    """What does not hold."""
    if may_be_wrong(found):
        return set()
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
        self.assertEqual(wrong(found), set(), found.row())

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
