"""Measures what remains of a window once it is over, on the simulated GPU: the step times of a
launch-bound PyTorch loop before the first of many windows and after the last one, and how long the
application pauses where a window ends. Measures the same for torch.profiler, with one window.

usage: test/torch/residue.py [--runs N] [--cycles N]
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
LOOP = os.path.join(HERE, "bench_loop.py")
WARM_UP, BEFORE, AFTER = 200, 400, 400
WAIT, ARMED = 6, 4  # steps of a cycle: not recorded, recorded (a warm-up step among them)
SETTLING = 50  # steps behind the last window that are left out: CUPTI delivers what it still has
PROFILED_STEPS = 5


def run(command, file, env=None):
    subprocess.run(command, check=True, env={**os.environ, **(env or {})},
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(file, encoding="utf-8") as lines:
        return json.load(lines)["steps_ms"]


def ratio(times, window_begin, window_end):
    before = statistics.median(times[window_begin - BEFORE:window_begin])
    after = statistics.median(times[window_end + SETTLING:window_end + SETTLING + AFTER])
    return before, after, after / before


def ends_ms(times, begin, cycles):
    """By how much the first step after each window is longer than the disarmed ones."""
    length = WAIT + ARMED
    firsts = [times[begin + i * length] for i in range(1, cycles)]
    usual = statistics.median(times[begin + i * length + 3] for i in range(1, cycles))
    return sorted(first - usual for first in firsts)


def profiled(folder, cycles):
    file, out = os.path.join(folder, "times"), os.path.join(folder, "out")
    begin = WARM_UP + BEFORE
    steps = begin + cycles * (WAIT + ARMED) + SETTLING + AFTER + 10
    times = run([os.path.join(ROOT, "profrun.sh"), "--sim", "--quiet", "-o", out, "--schedule",
                 f"skip_first={begin},wait={WAIT},warmup=1,active={ARMED - 1},repeat={cycles}",
                 "--", PYTHON, LOOP, str(steps), file],
                file, {"PROF_BUFFER_MB": "1024"})
    with open(os.path.join(out, "run.json"), encoding="utf-8") as handle:
        told = json.load(handle)["processes"][0]["steps"]
    if len(told["recorded"]) < cycles * (ARMED - 1) or told["schedule_shift"]:
        sys.exit(f"residue: not every window was recorded: {len(told['recorded'])} steps, "
                 f"shift {told['schedule_shift']}")
    ends = ends_ms(times, begin, cycles)
    return (*ratio(times, begin, begin + cycles * (WAIT + ARMED)), statistics.median(ends),
            ends[int(len(ends) * 0.95)], ends[-1])


def torch_profiled(folder):
    file = os.path.join(folder, "times")
    begin = WARM_UP + BEFORE
    preload = " ".join(os.path.join(SIM, name)
                       for name in ("libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so"))
    times = run([PYTHON, LOOP, str(begin + PROFILED_STEPS + SETTLING + AFTER + 10), file,
                 "torch.profiler:cpu+cuda", str(begin - PROFILED_STEPS),
                 str(PROFILED_STEPS), "1"], file, {"LD_PRELOAD": preload, "LD_LIBRARY_PATH": SIM})
    return ratio(times, begin, begin + PROFILED_STEPS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cycles", type=int, default=100)
    args = parser.parse_args()
    print(f"{'PyTorch loop, ms a step':<34}{'before':>8}{'after':>8}{'ratio':>8}"
          f"{'pause at the end: median':>26}{'p95':>8}{'most':>8}")
    ways = ((f"profrun, {args.cycles} windows", lambda folder: profiled(folder, args.cycles)),
            ("torch.profiler, 1 window", torch_profiled))
    for name, way in ways:
        rows = []
        for _ in range(args.runs):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(way(folder))
        before, after, over, *pauses = (statistics.median(column) for column in zip(*rows))
        print(f"{name:<34}{before:8.3f}{after:8.3f}{over:8.4f}"
              + "".join(f"{p:{w}.3f}" for p, w in zip(pauses, (26, 8, 8))), flush=True)
    print("goal: ratio at most 1.003; a window's end pauses the application for at most 1 ms")


if __name__ == "__main__":
    main()
