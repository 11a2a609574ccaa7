#!/usr/bin/env python3
"""Compares profrun's results with PyTorch's own: peak memory, operation counts, kernels and their
times; and torch.profiler's traces while profrun records.

usage: 70_against_torch.py [NAME...]

Without PROFRUN_GPU=1 runs on the simulated GPU.
"""
import collections
import itertools
import json
import os
import re
import statistics
import sys
import tempfile

from _common import (PROGRAMS, TORCH, alone, conclude, each, interpreter_or_none,
                     journal_path, losses, main_process, traces, under_profrun)
from journal import LIBRARY, Journal
from torch_trace import Kineto
from trace import Trace

ROUNDS = 3  # of the comparison of times, by turns
TIMES_APART = 0.01
SKIPPED, SEEN, STEPS = 200, 20, 260
# RESTING: torch.profiler's warm-up step, and a step on each side that it shares with profrun
WINDOWS, WINDOW_STEPS, RESTING = 4, 3, 3
EVERY_STEP = "skip_first=15,wait=0,warmup=2,active=100000,repeat=1"


class Wrong(Exception):
    """What does not hold."""


def profiled(command, folder, schedule, *options, **more):
    """(the run, run.json's process, report.json's); Wrong where it failed or something was lost."""
    done = under_profrun([PYTHON, *command], folder, schedule, *options, **more)
    if done.status != 0:
        raise Wrong(f"status {done.status}: {done.last_words()}")
    ran, report = main_process(folder)
    if not report:
        raise Wrong("no report")
    if losses(folder):
        raise Wrong(f"losses {losses(folder)}")
    return done, ran, report


def memory(folder, *arguments):
    """The greatest that the allocator had, and had reserved, to the byte."""
    done, _, report = profiled([os.path.join(TORCH, "memory.py"), *arguments], folder,
                               "skip_first=20,wait=0,warmup=2,active=4,repeat=1")
    said, allocator = json.loads(done.out), report["memory"]["allocator"]
    if not allocator:
        raise Wrong("the report has nothing of PyTorch's allocator")
    wrong = []
    for what, ours, theirs in (("peak bytes", allocator["peak_bytes"], said["peak"]),
                               ("peak bytes reserved", allocator["peak_reserved_bytes"],
                                said["peak_reserved"])):
        yield f"{what} | {theirs} | {ours}"
        if ours != theirs:
            wrong.append(f"{what}: {ours}, PyTorch says {theirs}")
    if wrong:
        raise Wrong("; ".join(wrong))


def operations(folder, dtype, prefers_lt):
    """Of one step, by the calls' shapes."""
    done, ran, report = profiled([os.path.join(TORCH, "flops.py"), "40", dtype], folder,
                                 "skip_first=15,wait=0,warmup=2,active=4,repeat=1",
                                 "--step", "nvtx:step", TORCH_BLAS_PREFER_CUBLASLT=int(prefers_lt))
    expected = float(done.out.split()[-1])
    products = [c for c in Journal(journal_path(folder, ran)).of(LIBRARY) if "m" in c]
    called = collections.Counter(c.family for c in products)
    wrong = []
    for part in ("operators", "lines", "kernels"):
        ours = sum(row["flops"] or 0 for row in report[part])
        yield f"FLOP a step, by {part} | {expected:.0f} | {ours:.0f}"
        if ours != expected:
            wrong.append(f"{part}: {ours}, torch.profiler says {expected}")
    yield ("products recorded, by library | | "
           f"{', '.join(f'{name} {n}' for name, n in sorted(called.items()))}")
    if wrong:
        raise Wrong("; ".join(wrong))


def kernels_by_step(folder):
    """[(name, us)] of the kernels in the trace of each recorded step."""
    return [[(s.name, (s.end - s.time) / 1e3) for s in Trace(path).slices
             if {"correlation", "grid"} <= s.args.keys() and "kernel" not in s.args]
            for path in traces(folder)]


def by_us(folder):
    """[(name, us)] of each recorded step."""
    profiled([os.path.join(PROGRAMS, "same_steps.py"), *map(str, (STEPS, SKIPPED, SEEN))], folder,
             f"skip_first={SKIPPED},wait=0,warmup=2,active={SEEN},repeat=1")
    return kernels_by_step(folder)


def by_torch(folder):
    trace = os.path.join(folder, "trace.json")
    done = alone([PYTHON, os.path.join(PROGRAMS, "same_steps.py"),
                  *map(str, (STEPS, SKIPPED, SEEN)), trace], folder)
    if done.status != 0:
        raise Wrong(f"torch.profiler alone: status {done.status}: {done.last_words()}")
    return [[(work.name, work.us) for work in step] for step in Kineto(trace).by_step("kernel")]


def step_names(steps):
    """The kernels of a step, which is like all the others."""
    kinds = collections.Counter(tuple(sorted(name for name, _ in step)) for step in steps)
    if len(kinds) != 1:
        raise Wrong("the recorded steps differ: "
                    f"{[(len(names), n) for names, n in kinds.most_common(4)]} (kernels, steps)")
    return collections.Counter(next(iter(kinds)))


def kernels(folder):
    """The same steps of the same program, by turns under profrun and with torch.profiler alone."""
    ways, found = ({"torch.profiler": by_torch, "profrun": by_us},
                   {"torch.profiler": [], "profrun": []})
    for turn, (who, way) in itertools.product(range(ROUNDS), ways.items()):
        inside = os.path.join(folder, f"{turn}-{who}")
        os.makedirs(inside)
        found[who] += way(inside)
    names = {who: step_names(steps) for who, steps in found.items()}
    us = {who: statistics.median(sum(took for _, took in step) for step in steps)
          for who, steps in found.items()}
    yield (f"kernels a step | {sum(names['torch.profiler'].values())} "
           f"| {sum(names['profrun'].values())}")
    yield f"steps | {len(found['torch.profiler'])} | {len(found['profrun'])}"
    yield f"GPU us a step, median | {us['torch.profiler']:.2f} | {us['profrun']:.2f}"
    if names["torch.profiler"] != names["profrun"]:
        raise Wrong("only torch.profiler: "
                    f"{dict(names['torch.profiler'] - names['profrun'])!s:.200}, "
                    f"only profrun: {dict(names['profrun'] - names['torch.profiler'])!s:.200}")
    if not abs(us["profrun"] / us["torch.profiler"] - 1) <= TIMES_APART:
        raise Wrong(f"{us['profrun']:.2f} us a step, torch.profiler says "
                    f"{us['torch.profiler']:.2f}")


def windows(folder):
    """torch.profiler in four windows of a process of which profrun records every step."""
    command = [os.path.join(PROGRAMS, "profiler_windows.py"), "140"]
    before = alone([PYTHON, *command], os.path.join(folder, "alone"))
    if before.status != 0:
        raise Wrong(f"alone: status {before.status}: {before.last_words()}")
    done, _, _ = profiled(command, folder, EVERY_STEP)
    for theirs, with_us in itertools.zip_longest(before.out.splitlines(), done.out.splitlines(),
                                                 fillvalue="nothing"):
        yield (f"{theirs.partition(': ')[0]}, alone and under profrun "
               f"| {theirs.partition(': ')[2]} | {with_us.partition(': ')[2]}")
    # the first and the last may be partial
    counts = [len(step) for step in kernels_by_step(folder)][1:-1]
    whole = statistics.mode(counts)
    runs = [(is_whole, len(list(steps)))
            for is_whole, steps in itertools.groupby(counts, lambda n: n == whole)]
    yield (f"profrun's steps in order: whole ({whole} kernels), (in part or not) | | "
           f"{' '.join(str(n) if good else f'({n})' for good, n in runs)}")
    if len(before.out.splitlines()) != WINDOWS or before.out != done.out:
        raise Wrong(f"torch.profiler's traces: {done.out!r:.300}, alone {before.out!r:.300}")
    if [is_whole for is_whole, _ in runs] != [True, False] * WINDOWS + [True]:
        raise Wrong(f"profrun's own records do not stop {WINDOWS} times and resume: {runs}")
    if max(n for is_whole, n in runs if not is_whole) > WINDOW_STEPS + RESTING:
        raise Wrong(f"profrun's own records rest for longer than torch.profiler's window: {runs}")


# name, function, arguments, may share the machine with others
CASES = [
    ("memory", memory, (), True),
    ("memory, a peak that is not recorded", memory, ("grown",), True),
    *((f"FLOP, {dtype}, {'cublasLt' if lt else 'cublas'} preferred", operations, (dtype, lt), True)
      for dtype in ("float32", "bfloat16") for lt in (False, True)),
    ("torch.profiler's windows", windows, (), True),
    ("kernels", kernels, (), False),
]


def judge(case):
    """(table lines, (name, why not, False))"""
    name, function, arguments, _ = case
    folder = os.path.join(BASE, re.sub(r"\W+", "-", name))
    os.makedirs(folder)
    lines = []
    try:
        for line in function(folder, *arguments):
            lines.append(f"| {name} | {line} |")
    except Wrong as why:
        return lines, (name, str(why), False)
    # an unexpected file
    except (OSError, ValueError, KeyError, IndexError, TypeError,
            statistics.StatisticsError) as why:
        return lines, (name, repr(why), False)
    return lines, (name, None, False)


def main():
    global PYTHON, BASE
    PYTHON = interpreter_or_none("against PyTorch")
    if not PYTHON:
        return 0
    wanted = [case for case in CASES if not sys.argv[1:]
              or any(text in case[0] for text in sys.argv[1:])]
    outcomes = []
    print("| what | | PyTorch says | profrun says |")
    print("| --- | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="profrun-gpu-") as BASE:
        together = [case for case in wanted if case[3]]
        for lines, outcome in itertools.chain(each(judge, together),
                                              map(judge, (case for case in wanted if not case[3]))):
            outcomes.append(outcome)
            if lines:
                print("\n".join(lines), flush=True)
    return conclude(outcomes)


if __name__ == "__main__":
    sys.exit(main())
