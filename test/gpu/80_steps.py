#!/usr/bin/env python3
"""Checks that steps of real programs (test/torch/loops) are found where the programs mark them,
with Python's frames and without. Runs several at a time.

usage: 80_steps.py [NAME...]

Prints a table row per run, with the columns of test/torch/steps.py. Without PROFRUN_GPU=1 runs on
the simulated GPU. test/torch/test_steps.py says what must hold.
"""
import sys
import tempfile

from _common import AT_ONCE, conclude, interpreter_or_none
import steps
import test_steps


def outcome(name, frames, found):
    """(name, why not, False)"""
    what = f"{name}, {frames}"
    if isinstance(found, str):
        return what, found[-300:].replace("\n", " "), False
    wrong = test_steps.wrong(found)
    why = [f"{', '.join(sorted(wrong))} wrong"] if wrong else []
    if found.detector != "auto":
        why.append(f"found by {found.detector}")
    return what, "; ".join(why), False


def row(found):
    first, late, sure = ("" if value is None else value
                         for value in (found.first, found.late, found.confidence))
    return (f"| {found.name} | {found.frames} | {found.n_true} | {found.count} | {first} "
            f"| {found.one_per_step:.0%} | {found.in_place:.0%} "
            f"| {late} | {found.numbered:.0%} | {found.detector} {sure} |")


def main():
    steps.PYTHON = interpreter_or_none("steps")
    if not steps.PYTHON:
        return 0
    names = [name for name in steps.programs() if not sys.argv[1:] or name in sys.argv[1:]]
    missing = {name: test_steps.lacks(name) for name in names}
    outcomes = [(name, f"{module} cannot be imported", True) for name, module in missing.items()
                if module]
    print("| program | | steps | counted | begun by the library | one a step | in place "
          "| calls late | numbered right | detector, how sure |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="profrun-gpu-") as base:
        for name, frames, found in steps.run_all([name for name in names if not missing[name]],
                                                 base, AT_ONCE):
            outcomes.append(outcome(name, frames, found))
            if not isinstance(found, str):
                print(row(found), flush=True)
    return conclude(outcomes)


if __name__ == "__main__":
    sys.exit(main())
