"""What profrun costs a launch-bound PyTorch loop on the simulated GPU.

usage: test/torch/bench.py [--runs N] [--steps N] [--only in-process|processes]

In one process: the library alone arms every other block of steps, and each armed block is held against the two beside it. The
same done with nothing to arm says how exact that is, and with a CUPTI whose records nobody reads (cupti_alone.c) what part of
the price of GPU times is the simulated CUPTI's own. Between processes: the whole of profrun, its collector beside the loop, against a
bare run before each.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
PYTHON = os.path.join(BUILD, "torch-venv", "bin", "python")
SIM = os.path.join(BUILD, "sim")
ALONE = os.path.join(BUILD, "test", "torch", "cupti_alone.so")
SIM_LIBRARIES = tuple(os.path.join(SIM, name) for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))
SKIP = 100  # steps of warm-up
BLOCK, SETTLING = 12, 2  # in one process; the first steps of a block and its last one are left out: switching is not a step's
LONG_BLOCK, LONG_SETTLING = 50, 5  # between processes
NO_MEMORY = {"PROF_MEMORY": "off"}
HOST = {"PROF_STACKS": "none", "PROF_CUPTI": "off", **NO_MEMORY}
HOST_STACKS = {"PROF_CUPTI": "off", **NO_MEMORY}
HOST_MEMORY = {"PROF_CUPTI": "off"}
GPU = {"PROF_STACKS": "none", **NO_MEMORY}
GPU_STACKS = NO_MEMORY
GPU_MEMORY = {}


def loop(steps, preload, env, *more):
    """Milliseconds of each step."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "times")
        environment = {**os.environ, "LD_PRELOAD": " ".join(preload), "LD_LIBRARY_PATH": SIM, "PROF_OUT": os.path.join(folder, "out"),
                       "PROF_BUFFER_MB": "1024", **env}
        subprocess.run([PYTHON, os.path.join(HERE, "bench_loop.py"), str(steps), file, *more], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
        with open(file, encoding="utf-8") as lines:
            return [float(line) for line in lines]


def armed_over_disarmed(times):
    """Of every second block, over the mean of its neighbours."""
    blocks = [statistics.median(times[at + SETTLING:at + BLOCK - 1]) for at in range(SKIP, len(times) - BLOCK + 1, BLOCK)]
    return [2 * blocks[i] / (blocks[i - 1] + blocks[i + 1]) for i in range(1, len(blocks) - 1, 2)]


def interval(values):
    """95 % of the medians of what might have been drawn."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(1000))
    return medians[25], medians[974]


def in_process(runs, steps):
    schedule = {"PROF_SCHEDULE": f"skip_first={SKIP},wait={BLOCK},warmup=0,active={BLOCK},repeat=0", "PROF_STEP": "kernel:mse_kernel"}
    library = (os.path.join(BUILD, "libprofrun.so"), *SIM_LIBRARIES)
    ways = (("nothing (how exact this is)", lambda: loop(steps, SIM_LIBRARIES, {})),
            ("CUPTI, records thrown away", lambda: loop(steps, SIM_LIBRARIES, {}, ALONE, str(SKIP), str(BLOCK))),
            ("host times", lambda: loop(steps, library, {**schedule, **HOST})),
            ("host times, stacks", lambda: loop(steps, library, {**schedule, **HOST_STACKS})),
            ("host times, stacks, memory", lambda: loop(steps, library, {**schedule, **HOST_MEMORY})),
            ("GPU times", lambda: loop(steps, library, {**schedule, **GPU})),
            ("GPU times, stacks", lambda: loop(steps, library, {**schedule, **GPU_STACKS})),
            ("GPU times, stacks, memory", lambda: loop(steps, library, {**schedule, **GPU_MEMORY})))
    print(f"{'in one process, library alone':<32}{'ms a step':>10}{'armed/not':>11}{'95 % of it':>18}")
    found = {name: ([], []) for name, _ in ways}
    for _ in range(runs):
        for name, run in ways:
            times = run()
            found[name][0].extend(armed_over_disarmed(times))
            found[name][1].append(statistics.median(times[SKIP:]))
    for name, (ratios, ms) in found.items():
        low, high = interval(ratios)
        print(f"{name:<32}{statistics.median(ms):10.3f}{statistics.median(ratios):11.4f}{low:11.4f}{high:7.4f}", flush=True)
    both = statistics.median(found["GPU times, stacks"][0]) - statistics.median(found["CUPTI, records thrown away"][0]) + 1
    print(f"{'GPU times, stacks, less CUPTI':<32}{'':>10}{both:11.4f}")


def profiled(steps, settings):
    """Medians of disarmed and of armed steps."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "times"), os.path.join(folder, "out")
        subprocess.run([os.path.join(ROOT, "profrun.sh"), "--sim", "--quiet", "-o", out, "--schedule",
                        f"skip_first={SKIP},wait={LONG_BLOCK},warmup=0,active={LONG_BLOCK},repeat=0", "--",
                        PYTHON, os.path.join(HERE, "bench_loop.py"), str(steps), file], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PROF_BUFFER_MB": "1024", **settings})
        with open(os.path.join(out, "run.json"), encoding="utf-8") as handle:
            armed = set(json.load(handle)["processes"][0]["steps"]["armed"])
        with open(file, encoding="utf-8") as lines:
            times = [float(line) for line in lines]
    if not armed:
        sys.exit("bench: no step was armed")
    blocks = {True: [], False: []}
    for step in range(SKIP, len(times)):
        if LONG_SETTLING <= (step - SKIP) % LONG_BLOCK < LONG_BLOCK - 1:
            blocks[step in armed].append(times[step])
    return statistics.median(blocks[False]), statistics.median(blocks[True])


def processes(runs, steps):
    print(f"{'between processes, all of profrun':<34}{'bare':>8}{'disarmed':>10}{'armed':>8}{'disarmed/bare':>15}{'armed/bare':>12}")
    for name, settings in (("host times, stacks", HOST_STACKS), ("host times, stacks, memory", HOST_MEMORY),
                           ("GPU times, stacks", GPU_STACKS), ("GPU times, stacks, memory", GPU_MEMORY)):
        rows = []
        for _ in range(runs):
            bare = statistics.median(loop(steps, SIM_LIBRARIES, {})[SKIP:])
            rows.append((bare, *profiled(steps, settings)))
        b, d, a = (statistics.median(column) for column in zip(*rows))
        disarmed = statistics.median(row[1] / row[0] for row in rows)
        armed = statistics.median(row[2] / row[0] for row in rows)
        print(f"{name:<34}{b:8.3f}{d:10.3f}{a:8.3f}{disarmed:15.4f}{armed:12.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1900)
    parser.add_argument("--only", choices=("in-process", "processes"))
    args = parser.parse_args()
    if args.only != "processes":
        in_process(args.runs, args.steps)
    if args.only != "in-process":
        processes(args.runs, args.steps)
    print("budget: armed with stacks at most 1.015 of bare, with memory too 1.04, disarmed at most 1.003, without what CUPTI costs itself")


if __name__ == "__main__":
    main()
