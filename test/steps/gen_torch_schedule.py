#!/usr/bin/env python3
"""Writes test/steps/torch_schedule.tsv: torch.profiler.schedule's answers for many parameter sets.

usage: gen_torch_schedule.py > torch_schedule.tsv        with the installed torch
       gen_torch_schedule.py --random N SEED             N random sets instead of the table's
       gen_torch_schedule.py DIR > torch_schedule.tsv    with DIR/torch/profiler/profiler.py and
                                                         DIR/torch/version.py from a wheel

The last form runs torch's function without the rest of torch: it is pure Python.
Actions of steps 0 to 39: N none, W warmup, R record, S record and save.
"""
import ast
import enum
import itertools
import os
import random
import sys
import typing
import warnings

N_STEPS = 40
EDGES = [  # skip_first, wait, warmup, active, repeat, skip_first_wait
    (10, 0, 2, 3, 1, 0), (0, 0, 0, 1, 0, 0), (0, 0, 0, 1, 1, 0), (0, 0, 0, 40, 0, 0),
    (0, 0, 0, 41, 0, 0), (39, 0, 0, 1, 1, 0), (40, 0, 0, 1, 1, 0), (0, 39, 0, 1, 0, 0),
    (0, 40, 0, 1, 0, 1), (5, 50, 1, 2, 2, 1), (1000000, 1, 1, 1, 0, 0), (0, 0, 39, 1, 1, 0),
    (3, 7, 2, 5, 2, 1), (3, 7, 2, 5, 1, 1), (0, 13, 0, 1, 3, 1), (0, 0, 1, 1, 20, 0),
    (0, 0, 1, 1, 19, 0), (10, 20, 2, 3, 0, 1), (10, 20, 2, 3, 0, 0),
]
GRID = itertools.product((0, 3), (0, 4), (0, 2), (1, 3), (0, 1, 2), (0, 1))


def drawn(n, seed):
    """Returns random sets whose cycles often begin, end and repeat within N_STEPS."""
    rng = random.Random(seed)
    return [(rng.randrange(12), rng.randrange(9), rng.randrange(5), rng.randrange(1, 7),
             rng.randrange(5), rng.randrange(2)) for _ in range(n)]


def from_wheel(folder):
    """Returns torch's schedule(), taken from the source file, and torch's version."""
    with open(os.path.join(folder, "torch/profiler/profiler.py")) as f:
        tree = ast.parse(f.read())
    wanted = [n for n in tree.body if getattr(n, "name", "") in ("schedule", "ProfilerAction")]
    space = {"Enum": enum.Enum, "Callable": typing.Callable, "warn": warnings.warn}
    exec(compile(ast.Module(wanted, []), "profiler.py", "exec"), space)
    version = {}
    with open(os.path.join(folder, "torch/version.py")) as f:
        exec(f.read(), version)
    return space["schedule"], version["__version__"]


def main():
    warnings.simplefilter("ignore")
    rows = itertools.chain(EDGES, GRID)
    if sys.argv[1:2] == ["--random"]:
        rows = drawn(int(sys.argv[2]), int(sys.argv[3]))
    if sys.argv[1:] and sys.argv[1] != "--random":
        schedule, version = from_wheel(sys.argv[1])
    else:
        import torch
        schedule, version = torch.profiler.schedule, torch.__version__
    print(f"# torch.profiler.schedule of torch {version}, by gen_torch_schedule.py")
    print("# skip_first\twait\twarmup\tactive\trepeat\tskip_first_wait\tactions of steps 0 to 39")
    letter = {"NONE": "N", "WARMUP": "W", "RECORD": "R", "RECORD_AND_SAVE": "S"}
    for row in dict.fromkeys(rows):
        skip_first, wait, warmup, active, repeat, skip_first_wait = row
        action = schedule(wait=wait, warmup=warmup, active=active, repeat=repeat,
                          skip_first=skip_first, skip_first_wait=skip_first_wait)
        print(*row, "".join(letter[action(i).name] for i in range(N_STEPS)), sep="\t")


main()
