"""Measures how well steps are found in real programs (test/torch/loops), on the simulated GPU, or
with PROFRUN_GPU=1 on a real one: each with Python's frames and without.

usage: steps.py [NAME...] [--keep DIR] [-j N]

True ends of steps come from marks that the program writes for itself and profrun does not read. If
a mark has two times, the step may end anywhere between them. A row of the table has: the true
number of steps and the counted number; the number of the first step whose begin is known; of the
steps from there on, the share that hold exactly one boundary, and the share that end where the
program says, with no launch or copy between; the median number of calls from a true end to the
nearest boundary; what the detector reported.
"""
import argparse
import bisect
import concurrent.futures
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from at_exit import DIES_AT_EXIT, TRIES  # noqa: E402
from harness import BUILD, LAUNCHER, environment  # noqa: E402
from journal import STEP, Journal  # noqa: E402
from test_torch import ON_GPU, python  # noqa: E402
from trace import Trace  # noqa: E402

PYTHON = os.path.join(BUILD, "torch-venv", "bin", "python")
LOOPS = os.path.join(HERE, "loops")
# every call from the lock on is in the journal
SCHEDULE = "skip_first=0,wait=0,warmup=0,active=100000,repeat=1"
# On a loaded machine, the opening of 10 s may end before the program does, and compiling may take
# longer than the minute after which time slices are recorded. With frames, the loops then decide
# only about the place where the library counts, or not at all.
FRAMES = {"frames": {"PROF_OPENING": "600s,64MB"}, "no frames": {"PROF_PYTHON": "off"}}
PATIENT = {"PROF_LEARN_S": "600"}
CALLS = ("launch", "graph", "memcpy")
LIMIT_S = 600  # a program that compiles takes minutes on a loaded machine


class Found:
    """What profrun found of a run's steps, held against the true ones."""

    def __init__(self, name, frames, folder, ends_ns):
        self.name, self.frames, self.n_true = name, frames, len(ends_ns)
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            process, = [p for p in json.load(file)["processes"] if p.get("devices")]
        steps = process["steps"]
        self.count, self.detector, self.confidence = (steps["count"], steps["detector"],
                                                      steps.get("confidence"))
        journal = Journal(os.path.join(folder, process["journal"]))
        calls = sorted(journal.ns(c.begin) for c in journal.calls() if c.category in CALLS)
        # then the loop has cut all steps anew, and those that the library recorded are void
        is_cut_by_loop = steps.get("boundary") == "loop" and "opening_s" not in steps
        begins = {} if is_cut_by_loop else self._recorded(journal)
        self._compare(calls, begins or self._traced(folder), ends_ns)

    @staticmethod
    def _recorded(journal):
        """Returns {number: begin}, as the library recorded it: nothing if the run was too
        short."""
        void = {r.detail for r in journal.of(STEP) if r.event == "corrected"}
        # an anchor that was replaced before its steps had numbers counted none
        found, bases = {}, {journal.base_generation: journal.base}
        bases.update({r.generation: r.number for r in journal.of(STEP) if r.event == "numbered"})
        for r in sorted(journal.of(STEP), key=lambda r: r.ticks):
            if r.number and r.generation not in void and (
                    r.event == "begin" or (r.event == "counted" and r.generation in bases)):
                found.setdefault(r.number + (bases[r.generation] if r.event == "counted" else 0),
                                 journal.ns(r.ticks))
        return found

    @staticmethod
    def _traced(folder):
        """Returns {number: begin} of the steps that have traces."""
        found = {}
        for path in glob.glob(os.path.join(folder, "traces", "*", "step-*.pftrace.gz")):
            found.update((int(s.name.split()[1]), s.time) for s in Trace(path).slices
                         if re.fullmatch(r"step \d+", s.name))
        return found

    def _compare(self, calls, numbers, ends_ns):
        """Compares both kinds of boundaries as positions among the calls, all of which are in the
        journal."""
        self.first = min(numbers, default=None)
        ends = [bisect.bisect_left(calls, first) for first, _ in ends_ns]
        latest = [bisect.bisect_left(calls, last) for _, last in ends_ns]

        def place_of(ns):
            """The place among the calls. What may end a step counts as its earliest end."""
            place = bisect.bisect_left(calls, ns)
            k = bisect.bisect_right(ends, place) - 1
            return ends[k] if k >= 0 and place <= latest[k] else place

        places = {number: place_of(ns) for number, ns in numbers.items()}
        begins = sorted(places.values())
        # no step begins at the last step's end
        judged = [k for k in range(1, self.n_true - 1) if begins and ends[k - 1] >= begins[0]]
        late = [min((begin - ends[k] for begin in begins), key=abs) for k in judged]
        self.late = statistics.median_low(late) if late else None
        self.in_place = sum(n == 0 for n in late) / max(len(late), 1)
        # a boundary that comes late in every step is one a step
        n_one = sum(bisect.bisect_right(begins, ends[k] + self.late)
                    - bisect.bisect_right(begins, ends[k - 1] + self.late) == 1
                    for k in judged)
        self.one_per_step = n_one / max(len(judged), 1)
        # the step that begins as number N is the one behind the N-th true end
        counted = {n: place for n, place in places.items() if 1 <= n < self.n_true}
        self.misnumbered = sum(self.late is None or place != ends[n - 1] + self.late
                               for n, place in counted.items())
        self.numbered = 1 - self.misnumbered / max(len(counted), 1)

    def row(self):
        share = "{:5.0%}".format
        return (f"{self.name:16} {self.frames:9} {self.n_true:5} {self.count:7} "
                f"{self.first if self.first is not None else '-':>6} "
                f"{share(self.one_per_step):>6} {share(self.in_place):>6} "
                f"{self.late if self.late is not None else '-':>5} "
                f"{share(self.numbered):>8}  {self.detector} "
                f"{self.confidence if self.confidence is not None else ''}")


HEAD = (f"{'program':16} {'':9} {'steps':>5} {'counted':>7} {'begun':>6} {'1/step':>6} "
        f"{'place':>6} {'late':>5} {'numbered':>8}  "
        "detector, how sure")


def programs():
    return sorted(name[:-3] for name in os.listdir(LOOPS) if name.endswith(".py")
                  and name != "marks.py")


def run(name, frames, folder):
    """Found, or the reason why it could not be had."""
    marks, out = os.path.join(folder, "true"), os.path.join(folder, "out")
    command = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "--quiet", "-o", out, "--schedule",
               SCHEDULE, "--", PYTHON, os.path.join(LOOPS, name + ".py")]
    # An empty cache hides what other runs compiled: a program compiles in its first iteration, as
    # on a new machine.
    cold = {name: os.path.join(folder, "compiled")
            for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")}
    env = environment(TRUE_STEPS=marks, HF_HUB_OFFLINE=1, **cold, **PATIENT, **FRAMES[frames])
    for left in range(TRIES - 1, -1, -1):
        done = subprocess.run(command, env=env, cwd=folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S)
        if not left or DIES_AT_EXIT not in done.stdout:
            break
        print(f"{name}: PyTorch died at its exit, as it does now and then on the simulated GPU "
              "without profrun too; made again")
        shutil.rmtree(out)
    if done.returncode:
        return f"exit status {done.returncode}: {done.stdout[-1000:]}"
    with open(marks, encoding="utf-8") as file:
        return Found(name, frames, out, [tuple(map(int, line.split())) for line in file])


def run_all(names, base, at_once):
    """(name, frames, what run() gave), in order, each as soon as it is there."""
    def one(row):
        name, frames = row
        folder = os.path.join(base, f"{name}-{frames.replace(' ', '-')}")
        os.makedirs(folder)
        try:
            return name, frames, run(name, frames, folder)
        # the other runs continue
        except (OSError, ValueError, AssertionError, subprocess.TimeoutExpired) as why:
            return name, frames, repr(why)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(one, [(name, frames) for name in names for frames in FRAMES])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--keep", metavar="DIR", help="leave the runs' folders there")
    parser.add_argument("-j", type=int, default=1, metavar="N", help="run N at a time")
    options = parser.parse_args()
    global PYTHON
    PYTHON, status = python(), 0
    print(HEAD)
    with tempfile.TemporaryDirectory() as base:
        for name, frames, found in run_all(options.names or programs(), options.keep or base,
                                           options.j):
            status |= isinstance(found, str)
            print(f"{name:16} {frames:9} {found}" if isinstance(found, str) else found.row(),
                  flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
