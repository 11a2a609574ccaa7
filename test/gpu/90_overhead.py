#!/usr/bin/env python3
"""Measures what recording costs a launch-bound PyTorch loop (test/torch/bench_loop.py), for profrun
and torch.profiler alternately: before the window, in it, after it, and where it begins and ends.

usage: 90_overhead.py [--rounds N] [--limit-s S]

Without PROFRUN_GPU=1 runs on the simulated GPU.

Step times come from inside the program. Ratios are to the bare run of the same round, at the same
steps. Figures are medians of the rounds. torch.profiler starts and stops between two steps, so its
pause is the call plus the step after it. A pause of profrun's is the excess of the longest step
there over a typical one.
"""
import argparse
import glob
import gzip
import json
import os
import statistics
import sys
import tempfile
import time

from _common import ROOT, alone, conclude, interpreter_or_none, main_process, under_profrun

LOOP = os.path.join(ROOT, "test", "torch", "bench_loop.py")
WARM_UP, BEGIN, ARMED, AFTER = 300, 700, 60, 400  # the window begins at BEGIN
SWITCHING = 3  # steps on either side of a switch, which pay for it
SETTLING = 50  # steps after the window that are left out: what CUPTI still has is delivered
STEPS = BEGIN + ARMED + SETTLING + AFTER + 10
WINDOW = f"skip_first={BEGIN},wait=0,warmup=1,active={ARMED},repeat=1"
NEVER = "skip_first=1000000,wait=0,warmup=1,active=1,repeat=1"
BUDGETS = (("profrun", "torch.profiler", 0.35), ("profrun", "torch.profiler, with_stack", 0.25))

NO_OPENING = {"PROF_OPENING": "off"}
# name, schedule or what torch.profiler is to record, settings
ALONE = "alone"
ROWS = (
    (ALONE, None, {}),
    ("profrun, nothing recorded", NEVER, NO_OPENING),
    ("profrun, in the opening", NEVER, {}),
    ("profrun", WINDOW, {"PROF_MEMORY": "off", **NO_OPENING}),
    ("profrun, with memory", WINDOW, NO_OPENING),
    ("torch.profiler", "torch.profiler:cpu+cuda", {}),
    ("torch.profiler, with_stack", "torch.profiler:cpu+cuda+stack", {}),
    ("torch.profiler, stacks, shapes, memory", "torch.profiler:cpu+cuda+stack+shapes+memory", {}),
)


class Figures:
    """One run: its step times, by part of the run; its pauses; trace bytes per step, plain and
    gzipped."""

    def __init__(self, told, first, last):
        times = told["steps_ms"]
        self.slices = {"before": (WARM_UP, first - SWITCHING), "within": (first + SWITCHING, last),
                       "after": (last + SETTLING, last + SETTLING + AFTER)}
        self.times, self.pauses, self.size = times, (None, None), (None, None)
        self.starts, self.stops = told["starts_ms"], told["stops_ms"]

    def ms(self, part, slices=None):
        begin, end = (slices or self.slices)[part]
        return statistics.median(self.times[begin:end])

    def find_pauses(self):
        """Sets by how much a step, with the profiler's call before it, is longer than the part's
        typical step."""
        first, last = self.slices["within"][0] - SWITCHING, self.slices["within"][1]
        if self.starts:
            self.pauses = (self.starts[0] + self.times[first] - self.ms("within"),
                           self.stops[0] + self.times[last + 1] - self.ms("after"))
        else:
            self.pauses = (max(self.times[first - SWITCHING:first + SWITCHING]) - self.ms("within"),
                           max(self.times[last - 1:last + SWITCHING]) - self.ms("after"))


def read_figures(file):
    with open(file, encoding="utf-8") as handle:
        return json.load(handle)


def by_torch(what, folder, file):
    """Returns the Figures of a run. `what`: None, or what torch.profiler records. Raises
    RuntimeError if the run failed."""
    # off for a block, then on for one
    more = (what, str(BEGIN - ARMED), str(ARMED), "1") if what else ()
    done = alone([PYTHON, LOOP, str(STEPS), file, *more], folder)
    if done.status != 0:
        raise RuntimeError(f"status {done.status}: {done.last_words()}")
    told = read_figures(file)
    figures = Figures(told, BEGIN, BEGIN + ARMED - 1)
    if what:
        figures.find_pauses()
        figures.size = tuple(size / ARMED for size in told["trace_bytes"])
    return figures


def by_profrun(schedule, settings, folder, file):
    done = under_profrun([PYTHON, LOOP, str(STEPS), file], folder, schedule, "--quiet", **settings)
    if done.status != 0:
        raise RuntimeError(f"status {done.status}: {done.last_words()}")
    ran, _ = main_process(folder)
    recorded = ran["steps"]["recorded"]
    if schedule == NEVER:
        return Figures(read_figures(file), BEGIN, BEGIN + ARMED - 1)
    if len(recorded) < ARMED or recorded[-1] + SETTLING + AFTER > STEPS:
        raise RuntimeError(f"steps {recorded[:1]} to {recorded[-1:]} were recorded, "
                           f"not {ARMED} from {BEGIN} on")
    figures = Figures(read_figures(file), recorded[0], recorded[-1])
    figures.find_pauses()
    sizes = []
    for path in glob.glob(os.path.join(folder, "run", "traces", "*", "step-*.pftrace.gz")):
        with gzip.open(path) as trace:
            sizes.append((len(trace.read()), os.path.getsize(path)))
    figures.size = tuple(statistics.median(column) for column in zip(*sizes))
    return figures


def measure(row, base):
    _, what, settings = row
    with tempfile.TemporaryDirectory(dir=base) as folder:
        file = os.path.join(folder, "times")
        if what is None or what.startswith("torch.profiler"):
            return by_torch(what, folder, file)
        return by_profrun(what, settings, folder, file)


def middle(values, form):
    values = [value for value in values if value is not None]
    return format(statistics.median(values), form) if values else ""


def print_table(rounds):
    print("| ten Linear(256, 256), Adam, .item() | ms a step | over alone: before | in the window "
          "| after it | added us a step | pause at its begin, ms "
          "| at its end, ms | trace bytes a step | gzipped |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    added = {}
    for name, _, _ in ROWS:
        pairs = [(found[name], found[ALONE]) for found in rounds]
        ratios = {part: [f.ms(part) / bare.ms(part, f.slices) for f, bare in pairs]
                  for part in ("before", "within", "after")}
        added[name] = [(f.ms("within") - bare.ms("within", f.slices)) * 1e3 for f, bare in pairs]
        cells = [middle([f.ms("within") for f, _ in pairs], ".3f"),
                 *(middle(values, ".3f") for values in ratios.values()),
                 middle(added[name], ".1f"),
                 *(middle([f.pauses[i] for f, _ in pairs], ".2f") for i in (0, 1)),
                 *(middle([f.size[i] for f, _ in pairs], ",.0f") for i in (0, 1))]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"| rounds | {len(rounds)} |")
    print("| what profrun adds, of what torch.profiler adds | share | at most |")
    for ours, theirs, most in BUDGETS:
        shares = [a / b for a, b in zip(added[ours], added[theirs]) if b > 0]
        print(f"| {ours}, of {theirs} | {middle(shares, '.2f')} | {most} |")


def main():
    global PYTHON
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-s", type=float, default=120,
                        help="no round begins that, by those before it, would end later")
    args = parser.parse_args()
    PYTHON = interpreter_or_none("overhead")
    if not PYTHON:
        return 0
    rounds, failed, began = [], None, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="profrun-gpu-") as base:
        for turn in range(args.rounds):
            if turn and (time.monotonic() - began) * (turn + 1) / turn > args.limit_s:
                break
            found = {}
            for row in ROWS:
                try:
                    found[row[0]] = measure(row, base)
                except RuntimeError as why:
                    failed = f"{row[0]}: {why}"
            if len(found) == len(ROWS):
                rounds.append(found)
    if rounds:
        print_table(rounds)
    return conclude([("overhead", failed, False)])


if __name__ == "__main__":
    sys.exit(main())
