#!/usr/bin/env python3
"""A job of days in minutes: a loop of millions of steps on the simulated GPU.

It runs under the real launcher, library and collector.

usage: test/bench/soak.py [STEPS] [--schedule S] [--samples N]         default: 3,000,000 steps

Prints samples of the memory of application and collector, of their open files, and of the number
and size of the files in the run's folder. Then prints what a step adds to each, from a line fitted
to the second half of the samples. Exit status 1 if something grows. The fit excludes the first
million steps, whose durations are kept one by one (4 MB). A run with dropped records, because the
collector did not run for seconds, shows nothing and fails. A step is four launches of zero length:
10 million steps are 24 h of a job with steps of 8.6 ms.
"""
import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from journal import HEADER  # noqa: E402

CURRENT_STEP = HEADER.size + 40 + 40  # in the journal's header: struct journal_steps, current
# What ten million steps may add: allocators sometimes take a page.
COLUMNS = [("app KiB", 1024), ("collector KiB", 8192), ("app fds", 0.5), ("collector fds", 0.5),
           ("files", 0.5), ("disk KiB", 16384)]
TEN_MILLION = 10_000_000
KEPT_ONE_BY_ONE = 1_000_000  # core/model/baseline.h


def status_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise ProcessLookupError(pid)


def journal_in_memory_kib(pid):
    """Returns the resident memory of the journal's mapping. It counts as the application's own, but
    PROF_BUFFER_MB bounds it: it is no leak."""
    total, counts = 0, False
    with open(f"/proc/{pid}/smaps") as file:
        for line in file:
            word = line.split()[0]
            if not word.endswith(":"):
                counts = ".journal" in line
            elif word == "Rss:" and counts:
                total += int(line.split()[1])
    return total


def folder_use(folder):
    n_files = disk_kib = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                disk_kib += os.stat(os.path.join(path, name)).st_blocks // 2
                n_files += 1
            except FileNotFoundError:
                pass
    return n_files, disk_kib


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def current_step(folder):
    names = [name for name in os.listdir(os.path.join(folder, "journal"))
             if name.endswith(".journal")]
    with open(os.path.join(folder, "journal", names[0]), "rb") as file:
        file.seek(CURRENT_STEP)
        return struct.unpack("<Q", file.read(8))[0]


def sample(folder, application, collector):
    step = current_step(folder)
    rss = [status_kib(pid) - journal_in_memory_kib(pid) for pid in (application, collector)]
    fds = [len(os.listdir(f"/proc/{pid}/fd")) for pid in (application, collector)]
    return [step, *rss, *fds, *folder_use(folder)]


def slope(points):
    """Returns the slope of a line fitted to the points."""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    below = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / below if below else 0.0


def watch(child, folder, wanted, steps):
    """Takes samples while the application runs, one after each part of the steps."""
    rows, application, collector = [], None, None
    while child.poll() is None:
        time.sleep(0.05)
        try:
            if collector is None:
                for pid in children(child.pid):
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        words = file.read().split(b"\0")
                    if b"collect" in words:
                        collector = pid
                    elif words[0].endswith(b"/loop"):
                        application = pid
                continue
            row = sample(folder, application, collector)
        except (OSError, IndexError):  # not there yet, or gone
            continue
        if len(rows) * steps / wanted <= row[0]:
            rows.append(row)
            print("%10d" % row[0], *("%14d" % value for value in row[1:]), flush=True)
    return rows


def judge(rows):
    """Prints what ten million steps would add; returns whether something grows."""
    half = [row for row in rows[len(rows) // 2:] if row[0] > KEPT_ONE_BY_ONE]
    if len(half) < 5:
        print("too short to say what grows: more steps")
        return 1
    grows = []
    print("%10s" % "10^7 more:", end="")
    for i, (name, most) in enumerate(COLUMNS):
        added = slope([(row[0], row[i + 1]) for row in half]) * TEN_MILLION
        print("%15.1f" % added, end="")
        if added > most:
            grows.append(name)
    print(f"\n{'grows: ' + ', '.join(grows) if grows else 'nothing grows'}")
    return 1 if grows else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=3_000_000)
    parser.add_argument("--schedule", default="skip_first=10,wait=49995,warmup=2,active=3,repeat=0")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--step", default="auto")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="profrun-soak-")
    run = os.path.join(folder, "run")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PROF_", "PROFSIM_"))}
    env.update(PROF_BUFFER_MB="16", PROF_KEEP_TRACES="6", PROFSIM_KERNEL_US="0",
               PROFSIM_LAUNCH_US="0", PROFSIM_LATENCY_US="0")
    loop = os.path.join(ROOT, "build", "test", "prog", "loop")
    print(f"{args.steps} steps, PROF_SCHEDULE={args.schedule}, PROF_STEP={args.step}")
    print("%10s" % "step", *("%14s" % name for name, _ in COLUMNS))
    began = time.monotonic()
    child = subprocess.Popen([os.path.join(ROOT, "profrun.sh"), "--sim", "-o", run, "--schedule",
                              args.schedule, "--step", args.step, "--", loop, str(args.steps),
                              "bare"],
                             env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    rows = watch(child, run, args.samples, args.steps)
    said = child.stderr.read()
    print(f"{time.monotonic() - began:.0f} s; exit status {child.returncode}")
    print("\n".join(line for line in said.splitlines() if line.startswith("profrun: ")))
    status = judge(rows) or child.returncode or int("records dropped: the buffer" in said)
    shutil.rmtree(folder, ignore_errors=True)
    return status


sys.exit(main())
