#!/usr/bin/env python3
"""How long `profrun merge` takes for many ranks, and how much memory.

usage: test/bench/merge_bench.py BUILD [RANKS]...        default: 100 and 1000 ranks

Two ranks of test/prog/ranks_job.py are recorded on the simulated GPU. Their journals are copied
under other ranks' numbers. Prints for each number of ranks and each kind of file: time, CPU time,
largest memory, size. Exit status 1 if the memory grows by more than a rank's collectives take.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = 4
STEPS = 60
# Bytes that may remain of a rank: its 96 recorded collectives (40 bytes in a growing array, and
# their share of tables while clocks and waits are computed).
RANK_KIB_MOST = 24


def record(build, folder):
    env = dict(os.environ, RANK_DIGITS=str(DIGITS), LD_LIBRARY_PATH=os.path.join(build, "sim"),
               PROFSIM_LAUNCH_US="1")
    subprocess.run([os.path.join(build, "profrun"), "--sim", "--quiet", "-o", folder, "--",
                    sys.executable, os.path.join(ROOT, "test", "prog", "ranks_job.py"), str(STEPS),
                    "2", "1", "1"], env=env, check=True, stderr=subprocess.DEVNULL)


def copy(source, target, rank):
    """Copies a journal without its holes, under another rank's number."""
    subprocess.run(["cp", "--sparse=always", source, target], check=True)
    with open(target, "r+b") as file:
        data = file.read(1 << 20)
        at = data.find(b"rank\0" + b"0" * (DIGITS - 1))
        assert at > 0, "the journal names no rank"
        file.seek(at + len(b"rank\0"))
        file.write(str(rank).zfill(DIGITS).encode())


def merge(build, folder, path):
    """Returns seconds, seconds of CPU time, KiB of memory, and bytes of the file."""
    begin = time.monotonic()
    child = subprocess.Popen([os.path.join(build, "profrun"), "merge", folder, "-o", path],
                             stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, f"merge: {status}"
    return (time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
            os.path.getsize(path))


def main():
    build = os.path.abspath(sys.argv[1])
    counts = sorted(map(int, sys.argv[2:])) or [100, 1000]
    base = tempfile.mkdtemp(prefix="profrun-merge-")
    try:
        record(build, os.path.join(base, "run"))
        journals = sorted(os.path.join(base, "run", "journal", name)
                          for name in os.listdir(os.path.join(base, "run", "journal")))
        os.makedirs(os.path.join(base, "many", "journal"))
        print(f"{'ranks':>6} {'file':12} {'s':>7} {'CPU s':>7} {'ms/rank':>8} {'MiB':>7} "
              f"{'file MiB':>9}")
        memory = {}
        for n in counts:
            for rank in range(n):
                target = os.path.join(base, "many", "journal", f"{10000 + rank}.journal")
                if not os.path.exists(target):
                    copy(journals[rank % 2], target, rank)
            for suffix in (".zip", ".pftrace.gz"):
                s, cpu_s, kib, size = merge(build, os.path.join(base, "many"),
                                     os.path.join(base, "out" + suffix))
                memory[n, suffix] = kib
                print(f"{n:6} {suffix:12} {s:7.1f} {cpu_s:7.1f} {1000 * cpu_s / n:8.1f} "
                      f"{kib / 1024:7.1f} {size / 2**20:9.1f}", flush=True)
        grown = [(memory[counts[-1], x] - memory[counts[0], x]) / (counts[-1] - counts[0])
                 for x in (".zip", ".pftrace.gz")] if len(counts) > 1 else [0]
        print(f"memory per rank: at most {max(grown):.1f} KiB; budget {RANK_KIB_MOST}")
        return max(grown) > RANK_KIB_MOST
    finally:
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
