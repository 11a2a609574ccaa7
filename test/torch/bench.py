"""What profrun costs a launch-bound PyTorch loop on the simulated GPU: bare, disarmed and armed steps, medians of paired runs.

usage: test/torch/bench.py [--runs N] [--steps N]

A profiled run arms every other block of 50 steps, so that armed and disarmed steps stand side by side in one process; a bare
run comes before each. The first steps of a block are left out: what switching costs is not a step's.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
PYTHON = os.path.join(BUILD, "torch-venv", "bin", "python")
SIM = os.path.join(BUILD, "sim")
BLOCK, SETTLING, WARM_UP = 50, 5, 100
# how profrun runs: name, settings
WAYS = (("host times only", {"PROF_STACKS": "none", "PROF_CUPTI": "off"}),
        ("host times, stacks", {"PROF_STACKS": "all", "PROF_CUPTI": "off"}),
        ("GPU times", {"PROF_STACKS": "none"}),
        ("GPU times, stacks", {"PROF_STACKS": "all"}))


def run(command, file, env=None):
    subprocess.run(command, check=True, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL)
    with open(file, encoding="utf-8") as lines:
        return [float(line) for line in lines]


def bare(folder, steps):
    file = os.path.join(folder, "bare")
    preload = " ".join(os.path.join(SIM, name) for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))
    times = run([PYTHON, os.path.join(HERE, "bench_loop.py"), str(steps), file], file, {"LD_PRELOAD": preload, "LD_LIBRARY_PATH": SIM})
    return statistics.median(times[WARM_UP:])


def profiled(folder, steps, settings):
    """Medians of disarmed and of armed steps."""
    file, out = os.path.join(folder, "times"), os.path.join(folder, "out")
    times = run([os.path.join(ROOT, "profrun.sh"), "--sim", "--quiet", "-o", out, "--schedule",
                 f"skip_first={WARM_UP},wait={BLOCK},warmup=0,active={BLOCK},repeat=0", "--",
                 PYTHON, os.path.join(HERE, "bench_loop.py"), str(steps), file], file, {"PROF_BUFFER_MB": "1024", **settings})
    with open(os.path.join(out, "run.json"), encoding="utf-8") as handle:
        armed = set(json.load(handle)["processes"][0]["steps"]["armed"])
    if not armed:
        sys.exit("bench: no step was armed")
    blocks = {True: [], False: []}
    for step in range(WARM_UP, len(times)):
        place = (step - WARM_UP) % BLOCK
        if place >= SETTLING and place < BLOCK - 1:
            blocks[step in armed].append(times[step])
    return statistics.median(blocks[False]), statistics.median(blocks[True])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1100)
    args = parser.parse_args()
    print(f"{'PyTorch loop, ms a step':<26}{'bare':>8}{'disarmed':>10}{'armed':>8}{'armed/bare':>12}{'armed/disarmed':>16}")
    for name, settings in WAYS:
        rows = []
        for _ in range(args.runs):
            with tempfile.TemporaryDirectory() as folder:
                rows.append((bare(folder, args.steps), *profiled(folder, args.steps, settings)))
        b, d, a = (statistics.median(column) for column in zip(*rows))
        over_bare = statistics.median(row[2] / row[0] for row in rows)
        over_disarmed = statistics.median(row[2] / row[1] for row in rows)
        print(f"{name:<26}{b:8.3f}{d:10.3f}{a:8.3f}{over_bare:12.4f}{over_disarmed:16.4f}", flush=True)
    print("budget: armed with stacks at most 1.015 of bare, disarmed at most 1.003. GPU times: with what the simulated CUPTI costs itself")


if __name__ == "__main__":
    main()
