"""Measures what profrun and torch.profiler cost a launch-bound PyTorch loop on the simulated GPU.

usage: test/torch/bench.py [--runs N] [--steps N] [--realtime] [--loader] [-k TEXT]

Each row is one process in which blocks of steps are recorded alternately. Each recorded block is
compared with the unrecorded blocks before and after it. The recorded block's first steps and its
last one are left out: switching has a column of its own. In the first row nothing is switched,
which shows how exact the comparison is. The second row shows what part of the cost of GPU times is
the simulated CUPTI's own. All of profrun runs, with its collector on the other core. Where nothing
is recorded (off, counted, after a window), the rows switch whether calls pass through the wrappers
at all (unhooked.c). At the end the same loop runs bare and under profrun with nothing recorded,
alternately. Those are two processes, which differ by more than that cost.
"""
import argparse
import glob
import gzip
import json
import os
import random
import re
import statistics
import subprocess

import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
PYTHON = os.path.join(BUILD, "torch-venv", "bin", "python")
LOOP = os.path.join(HERE, "bench_loop.py")
SIM = os.path.join(BUILD, "sim")
SIM_ENV = {"LD_PRELOAD": " ".join(os.path.join(SIM, name) for name in (
               "libcudart.so.13", "libcupti.so.13", "libprofsim_libs.so")),
           "LD_LIBRARY_PATH": SIM}
ALONE = os.path.join(BUILD, "test", "torch", "cupti_alone.so")
HOOKED = os.path.join(BUILD, "test", "torch", "unhooked.so")
SKIP, BLOCK, SETTLING = 200, 12, 2
PROFILED = 20  # windows of torch.profiler in a run: each stop takes it up to a second
# blocks between two recorded ones with GPU times: CUPTI stays on for 50 ms after a window
LINGERING = 5
NO_OPENING = {"PROF_OPENING": "off"}
NO_GPU, NO_MEMORY = {"PROF_CUPTI": "off"}, {"PROF_MEMORY": "off"}
ROWS = (  # name, what switches (None: profrun), profrun's settings (None: it is not there)
    ("nothing (how exact this is)", "", None),
    ("CUPTI, its records thrown away", ALONE, None),
    ("profrun: off", HOOKED, {"PROF_SCHEDULE": "off"}),
    ("profrun: steps counted", HOOKED, {"PROF_SCHEDULE": "skip_first=1000000000,active=1"}),
    ("profrun: in the opening", HOOKED, {"PROF_SCHEDULE": "skip_first=1000000000,active=1",
                                         "PROF_OPENING": "86400s", "PROF_BUFFER_MB": "8192"}),
    ("profrun: after the opening", HOOKED, {"PROF_OPENING": "0.1s"}),
    ("profrun: after a window", HOOKED,
     {"PROF_SCHEDULE": "skip_first=50,warmup=0,active=20,repeat=1"}),
    ("profrun: host times", None, {"PROF_STACKS": "none", **NO_GPU, **NO_MEMORY}),
    ("profrun: with stacks", None, {**NO_GPU, **NO_MEMORY}),
    ("profrun: with stacks, memory", None, NO_GPU),
    ("profrun: with GPU times, stacks", None, NO_MEMORY),
    ("profrun: all of it", None, {}),
    ("torch.profiler: CPU", "torch.profiler:cpu", None),
    ("torch.profiler: CPU, stacks", "torch.profiler:cpu+stack", None),
    ("torch.profiler: CPU, stacks, shapes, memory", "torch.profiler:cpu+stack+shapes+memory", None),
    ("torch.profiler: CPU, CUDA", "torch.profiler:cpu+cuda", None),
    ("torch.profiler: all of it", "torch.profiler:cpu+cuda+stack+shapes+memory", None),
)


class Row:
    def __init__(self):
        self.ratios, self.ms, self.pauses_ms, self.step_bytes = [], [], [], []


CORES = sorted(os.sched_getaffinity(0))
PROFRUN = ("taskset", "-c", ",".join(map(str, CORES[:-1] or CORES)),
           os.path.join(ROOT, "profrun.sh"), "--sim", "--quiet", "--")


def pinned(command, realtime):
    """On the last core; profrun's collector has the others."""
    return [*(("chrt", "-f", "10") if realtime else ()), "taskset", "-c", str(CORES[-1]), *command]


def loop(steps, realtime, before=(), env=None, more=()):
    """Returns what the loop wrote, and (number, trace bytes, gzipped bytes) of each recorded
    step."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "times"), os.path.join(folder, "out")
        command = pinned([PYTHON, LOOP, str(steps), file, *more], realtime)
        subprocess.run([*before, *command], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL if more else None,
                       env={**os.environ, "PROF_OUT": out, **(env or {})})
        with open(file, encoding="utf-8") as handle:
            told = json.load(handle)
        traces = []
        for path in glob.glob(os.path.join(out, "traces", "*", "step-*")):
            with gzip.open(path) as trace:
                number = int(re.search(r"step-(\d+)", os.path.basename(path)).group(1))
                traces.append((number, len(trace.read()), os.path.getsize(path)))
        return told, traces


def schedule(between):
    """profrun's settings: a block recorded, `between` blocks not."""
    return {"PROF_SCHEDULE": f"skip_first={SKIP},wait={between * BLOCK},warmup=0,"
                             f"active={BLOCK},repeat=0",
            "PROF_BUFFER_MB": "1024"}


def measure(row, steps, realtime, switch, settings):
    between = LINGERING if switch is None and "PROF_CUPTI" not in settings else 1
    if switch is None:
        steps = SKIP + (steps - SKIP) * (between + 1) // 2
        told, traces = loop(steps, realtime, PROFRUN,
                            {**NO_OPENING, **schedule(between), **settings})
        wrong = [number for number, _, _ in traces
                 if (number - SKIP) // BLOCK % (between + 1) != between]
        if wrong or not traces:
            raise SystemExit(f"bench: steps {wrong or 'none'} were recorded, "
                             "which are not the blocks that are compared")
        row.step_bytes += [sizes for _, *sizes in traces]
    else:
        if switch.startswith("torch"):
            steps = SKIP + (2 * PROFILED + 1) * BLOCK
        before, env = ((), SIM_ENV) if settings is None else (
            PROFRUN, {**NO_OPENING, **settings})
        told, _ = loop(steps, realtime, before, env,
                       (switch, str(SKIP), str(BLOCK)) if switch else ())
        row.step_bytes += ([tuple(size / BLOCK for size in told["trace_bytes"])]
                           if told["trace_bytes"] else [])
    times = told["steps_ms"]
    blocks = [times[at:at + BLOCK] for at in range(SKIP, len(times) - BLOCK + 1, BLOCK)]
    medians = [statistics.median(block[SETTLING:-1]) for block in blocks]
    for i in range(between, len(blocks) - between, between + 1):
        # Two ratios, not one to the mean of both: where single blocks are high (0.25 % here), that
        # would be high more often than low.
        row.ratios.append((medians[i] / medians[i - 1], medians[i] / medians[i + between]))
        row.pauses_ms.append(blocks[i + 1][0] - medians[i + 1])
    if told["stops_ms"]:
        row.pauses_ms = [*told["stops_ms"]]
    row.ms.append(statistics.median(medians[between - 1::between + 1]))


def middle(pairs):
    return statistics.median(ratio for pair in pairs for ratio in pair)


def interval(pairs):
    """95 % of the medians of what might have been drawn."""
    draw = random.Random(1)
    medians = sorted(middle(draw.choices(pairs, k=len(pairs))) for _ in range(1000))
    return medians[25], medians[974]


def recorded(runs, steps, realtime, only):
    found = {name: Row() for name, _, _ in ROWS if only in name}
    for _ in range(runs):
        for name, switch, settings in ROWS:
            if name in found:
                measure(found[name], steps, realtime, switch, settings)
    print(f"{'steps recorded by turns':<44}{'ms a step':>10}{'recorded/not':>13}{'95 % of it':>16}"
          f"{'bytes a step':>13}{'gzipped':>9}{'end, ms':>9}")
    for name, row in found.items():
        low, high = interval(row.ratios)
        sizes = [statistics.median(column) for column in zip(*row.step_bytes)]
        size = f"{sizes[0]:13,.0f}{sizes[1]:9,.0f}" if sizes else f"{'-':>13}{'-':>9}"
        print(f"{name:<44}{statistics.median(row.ms):10.3f}{middle(row.ratios):13.4f}{low:9.4f}"
              f"{high:7.4f}{size}"
              f"{statistics.median(row.pauses_ms):9.2f}", flush=True)


def disarmed(runs, steps, realtime):
    ratios = []
    for _ in range(2 * runs):
        bare, _ = loop(steps, realtime, (), SIM_ENV)
        under, _ = loop(steps, realtime, PROFRUN, {"PROF_SCHEDULE": "off"})
        ratios.append(statistics.median(under["steps_ms"][SKIP:])
                      / statistics.median(bare["steps_ms"][SKIP:]))
    print(f"{'profrun, nothing recorded, over a bare run':<44}{'':>10}"
          f"{statistics.median(ratios):13.4f}"
          f"{min(ratios):9.4f}{max(ratios):7.4f}  (least and most of {len(ratios)})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--realtime", action="store_true",
                        help="the loop's process before all others (root)")
    parser.add_argument("--loader", action="store_true",
                        help="batches from a DataLoader, copied to the device, as train.py has")
    parser.add_argument("-k", dest="only", default="", help="rows whose name has this in it")
    args = parser.parse_args()
    if args.loader:
        os.environ["BENCH_LOADER"] = "1"
    recorded(args.runs, args.steps, args.realtime, args.only)
    if args.only in "disarmed":
        disarmed(args.runs, args.steps, args.realtime)
    print("budget: with stacks at most 1.015, with memory too 1.04, without what CUPTI costs "
          "itself; nothing recorded at most 1.003;\n"
          "        bytes at most a fifth of torch.profiler's (whose default is plain, profrun's "
          "gzipped); a window's end takes at most 1 ms")


if __name__ == "__main__":
    main()
