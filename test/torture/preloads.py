#!/usr/bin/env python3
"""Runs programs with libprofrun.so among other preloaded libraries, in random order.

Each run must end as it does with the same libraries without profrun: same status, same output.
Usage: test/torture/preloads.py [SEED] [RUNS]. Prints one line per failure and the figures. Needs
`make tests`. Allocators are used where they are installed.
"""
import collections
import glob
import os
import random
import subprocess
import sys
import tempfile
import time

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build")
BUILD = os.path.realpath(BUILD)
PROG = os.path.join(BUILD, "test/prog")
LIBRARY = os.path.join(BUILD, "libprofrun.so")
# Programs whose output does not depend on time or on addresses.
PROGRAMS = [["interposed", "all", "3"], ["interposed", "handle", "5"],
            ["interposed", "getproc", "5"],
            ["interposed", "entry-point", "5"], ["threads", "ending"], ["driver_dlsym"],
            ["driver_getproc", "v2"], ["driver_getproc", "v1"], ["contexts"]]
PATIENCE_S = 20


FORMS = ("next", "handle", "name")
INTERPOSERS = [os.path.join(PROG, f"interposer_{form}.so") for form in FORMS]


def allocators():
    found = []
    for pattern in ("libtcmalloc_minimal.so.4", "libjemalloc.so.2", "libmimalloc.so.2*"):
        found += glob.glob(f"/usr/lib/*/{pattern}")[:1]
    return found


def run(command, preloads, folder):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PROF_", "LD_"))}
    env.update(LD_PRELOAD=":".join(preloads), LD_LIBRARY_PATH=os.path.join(BUILD, "sim"),
               PROF_OUT=folder, PROF_SCHEDULE="always", PROFSIM_DEVICES="2")
    try:
        done = subprocess.run([os.path.join(PROG, command[0]), *command[1:]], env=env, text=True,
                              capture_output=True, timeout=PATIENCE_S, errors="replace")
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return "does not end", ""


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else int(time.time())
    n_runs = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    choose = random.Random(seed)
    libraries, figures = allocators(), collections.Counter()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for i in range(n_runs):
            command = choose.choice(PROGRAMS)
            # one interposer: two of them call each other without end, with and without profrun
            chosen = [choose.choice(INTERPOSERS), *choose.sample(libraries, choose.randint(
                0, min(1, len(libraries))))]
            choose.shuffle(chosen)
            at = choose.randint(0, len(chosen))
            bare = run(command, chosen, "")
            ours = run(command, [*chosen[:at], LIBRARY, *chosen[at:]], f"{folder}/{i}")
            figures["runs"] += 1
            figures["profrun first" if not at else "profrun after another"] += 1
            if bare == ours:
                continue
            figures["failures"] += 1
            names = [os.path.basename(name) for name in chosen]
            names.insert(at, "profrun")
            print(f"not ok {' '.join(command)} with {', '.join(names)}: {ours} instead of {bare}")
    print(f"preloads: seed {seed}, {figures['runs']} runs, profrun first in "
          f"{figures['profrun first']}, {figures['failures']} failures, "
          f"{time.monotonic() - begun:.0f} s")
    return 1 if figures["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
