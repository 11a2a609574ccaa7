"""Steps of real programs (test/torch/loops) are found as the programs themselves mark them, with Python's frames and without.

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
    "td3": {"place", "numbers"},  # every step ends behind the critics: the actor's half, of every other one, goes to the next
}
# From launches alone: layers that each read a value look like tokens, and the batch that is fed looks like a prompt.
# Of a closure that the optimizer evaluates again and again: each evaluation, with what follows of the optimizer, looks like a step.
NOT_YET_WITHOUT_FRAMES = {name: {"count", "period", "place", "numbers"} for name in ("hooked_layers", "lbfgs", "lbfgs_search")}
# Calls by which a boundary may stand beside the mark. Both of the GAN's optimizers launch the same kernels, so that no three
# launches end its iteration alone; that the last one is over is known by its last two. What comes in every step, whatever the head, is the trunk alone; in every iteration of a
# server that batches what has come, reading the last one's answer and feeding what follows. A loop over parameters ends in launches that most
# of them have.
# An agent's iteration that ends with one network's step or another's is known by how the next one begins; a round of drafts by the host's reading how
# many are right, and one launch follows.
LATE = {"gan": 1, "sac": 1, "heads": 3, "continuous_batching": 1, "per_parameter": 1,
        "speculative": -1}
# Where no frames say when the loop goes round, a step ends with its optimizer: GradScaler.update's one launch comes behind that, and an average of
# the weights; of several optimizers with the one that most is launched behind, the generator's.
LATE_WITHOUT_FRAMES = {"transformer": -1, "averaging": -9, "three_losses": 103}
# A second model's first steps, before it is known that the first one's have ended, are seen by nobody; some more are told afterwards, and
# begun by nobody. The numbers go on from the last one that was seen.
# A training's first steps, until it is seen that no evaluation's come any more, are counted as these.
UNSEEN = {"second_model": 12, "evaluation_first": 50}
TOLD_LATER = {"second_model": 0.6, "evaluation_first": 0.65}
# Turns of the same work before the loop: eager ones, and the capture; and of a loop of its own.
SETTING_UP = {"graph_replay": 4, "evaluation_first": 200}
MISNUMBERED = 1  # the armed part may begin in the middle of a step
NEEDS = {"trainer": "transformers", "compiled": "triton"}


def setUpModule():
    steps.PYTHON = python()


def has_module(name):
    return not subprocess.run([steps.PYTHON, "-c", f"import {name}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def lacks(name):
    """The module without which the program cannot run and that cannot be imported, or None."""
    return NEEDS[name] if name in NEEDS and not has_module(NEEDS[name]) else None


def wrong(found):
    """What does not hold, of what NOT_YET has rows for."""
    without_frames = LATE_WITHOUT_FRAMES if found.frames == "no frames" else {}
    late, least = {**LATE, **without_frames}.get(found.name, 0), TOLD_LATER.get(found.name, 1)
    checks = {"count": found.count - found.n_true in range(-UNSEEN.get(found.name, 0), 1 + SETTING_UP.get(found.name, 0)),
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
        setattr(StepsOfRealPrograms, method(_name, _frames), lambda self, n=_name, f=_frames: self.check(n, f))

if __name__ == "__main__":
    unittest.main()
