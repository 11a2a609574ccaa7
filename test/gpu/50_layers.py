#!/usr/bin/env python3
"""A PyTorch model that reads a number from the device in each of its ten layers. Checks that the
line is named. Measures what profrun costs there, next to torch.profiler with and without stacks,
alternately, in one run.

usage: 50_layers.py [--rounds N] [--steps N]

Without PROFRUN_GPU=1 runs on the simulated GPU, with the PyTorch of `make test-torch`.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
SIM = os.path.join(BUILD, "sim")
PROGRAM = os.path.join(ROOT, "test", "torch", "layers.py")
ON_GPU = os.environ.get("PROFRUN_GPU") == "1"
PYTHON = sys.executable if ON_GPU else os.path.join(BUILD, "torch-venv", "bin", "python")
WARM_UP = 60
SETTLING = 5  # steps after the switch, which pay for it
BUDGETS = {"profiler": 0.35, "stacks": 0.25}  # of what torch.profiler adds
NAMES = {"none": "alone", "profiler": "torch.profiler", "stacks": "torch.profiler, with_stack",
         "profrun": "profrun, with stacks"}

sys.path.insert(0, os.path.join(ROOT, "test", "answers"))
import judge  # noqa: E402


def planted():
    with open(PROGRAM, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1)
                    if line.rstrip().endswith("# PLANTED"))


def times(line, path, env=None):
    done = subprocess.run(line, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(line)}: exit status {done.returncode}: "
                           f"{done.stdout[-300:]!r}")
    with open(path, encoding="utf-8") as file:
        return [float(text) for text in file]


def other(how, steps, folder):
    """Milliseconds of a step without profrun."""
    path = os.path.join(folder, "times")
    preload = " ".join(os.path.join(SIM, name)
                       for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))
    env = {} if ON_GPU else {"LD_PRELOAD": preload, "LD_LIBRARY_PATH": SIM}
    return statistics.median(times([PYTHON, PROGRAM, str(steps), str(WARM_UP), path, how],
                                   path, env)[WARM_UP + SETTLING:])


def profiled(steps, folder):
    """Milliseconds of a recorded step, and the report."""
    path, out = os.path.join(folder, "times"), os.path.join(folder, "out")
    found = times([os.path.join(ROOT, "profrun.sh"), *([] if ON_GPU else ["--sim"]), "--quiet",
                   "-o", out, "--schedule",
                   f"skip_first={WARM_UP},wait=0,warmup=2,active={steps},repeat=1", "--", PYTHON,
                   PROGRAM, str(steps), str(WARM_UP), path], path, {"PROF_BUFFER_MB": "1024"})
    with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        recorded = json.load(file)["processes"][0]["steps"]["recorded"]
    # A detected step may begin in the middle of the loop's, so the first and the last are recorded
    # only in part.
    return (statistics.median(found[step] for step in recorded[SETTLING:-1] if step < len(found)),
            report)


def named(report):
    """None where the report's first wait is the planted line, else what it says."""
    process = judge.main_process(report)
    rows = process.get("syncs") or [{}]
    file, line = judge.place(rows[0])
    right = judge.same_file(file, PROGRAM) and line == planted()
    print(f"| first wait of the report | {os.path.basename(file)}:{line} "
          f"| {rows[0].get('per_step')} a step "
          f"| {rows[0].get('recoverable_ms_per_step')} ms to be had "
          f"| verdict {process['bound']['verdict']} |")
    return None if right else f"the report's first wait is {file}:{line}, not {PROGRAM}:{planted()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    if (subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode
            if os.path.exists(PYTHON) else True):
        print(f"skip layers: {PYTHON} has no PyTorch")
        return 0
    found = {how: [] for how in NAMES}
    with tempfile.TemporaryDirectory() as base:
        for turn in range(args.rounds):
            folder = os.path.join(base, str(turn))
            os.mkdir(folder)
            for how in ("none", "profiler", "stacks"):
                found[how].append(other(how, args.steps, folder))
            ms, report = profiled(args.steps, folder)
            found["profrun"].append(ms)
    medians = {how: statistics.median(values) for how, values in found.items()}
    added = {how: ms - medians["none"] for how, ms in medians.items()}
    print("| ten layers that each wait | ms a step | added | profrun adds, of that | budget |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for how, name in NAMES.items():
        share = f"{added['profrun'] / added[how]:.2f}" if how in BUDGETS and added[how] > 0 else ""
        print(f"| {name} | {medians[how]:.3f} | {added[how]:.3f} | {share} "
              f"| {BUDGETS.get(how, '')} |")
    wrong = named(report)
    print(f"not ok layers: {wrong}" if wrong else "ok layers")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
