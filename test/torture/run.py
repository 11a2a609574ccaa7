#!/usr/bin/env python3
"""Tries profrun in hostile ways, chosen at random from a seed, and prints figures.

usage: test/torture/run.py [--seed N] [--short] [--group NAME[,NAME]] [--only GROUP/CASE]

Every case runs a program bare and under profrun. Standard output and exit status must be the same,
`info`, `report` and `export` must accept the folder, and an independent protobuf decoder must
accept the traces. Groups: see GROUPS. Prints a line per failure with the command that repeats it, a
line per group, and everything that is missing on this machine. Exit status 1 if anything failed.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback

import common
import kills
import life
import limits
import names
import preloads

GROUPS = (kills.GROUP, life.GROUP, preloads.GROUP, limits.GROUP, names.GROUP)
LIMIT_S = 15 * 60  # cases that have not begun by then are counted as not run, and fail the run


def run_case(case, group, base, options):
    """Returns the faults of one case, or None if there was no time for it."""
    if time.monotonic() > options.until:
        return None
    name = f"{group}/{case.name}"
    folder = os.path.join(base, re.sub(r"\W", "_", name))
    try:
        found = case.run(common.Place(folder, options.seed, name))
    except Exception:  # a fault of the case itself is a failure too
        found = [traceback.format_exc()]
    if not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def run_group(group, base, options):
    """Returns how many cases ran, how many failed, and how many did not run."""
    begun = time.monotonic()
    chance = random.Random(f"{options.seed}:{group.name}")
    cases = [case for case in group.cases(chance, options.short)
             if options.only in (None, f"{group.name}/{case.name}")]
    n_failed = n_late = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        running = {pool.submit(run_case, case, group.name, base, options): case for case in cases}
        for future in concurrent.futures.as_completed(running):
            found, name = future.result(), f"{group.name}/{running[future].name}"
            n_late += found is None
            if found:
                n_failed += 1
                print(f"not ok {name}: " + "; ".join(found))
                print(f"  repeat: python3 test/torture/run.py --seed {options.seed}"
                      f"{' --short' if options.short else ''} --only '{name}'", flush=True)
    late = f", {n_late} not run for lack of time" if n_late else ""
    print(f"{group.name}: {len(cases) - n_late} runs, {n_failed} failures{late}, "
          f"{time.monotonic() - begun:.0f} s", flush=True)
    return len(cases) - n_late, n_failed, n_late


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [group.name for group in GROUPS]
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--short", action="store_true", help="a part of each group")
    parser.add_argument("--group", default=",".join(known), help="of " + ", ".join(known))
    parser.add_argument("--only", metavar="GROUP/CASE", help="one case")
    parser.add_argument("--keep", action="store_true", help="keep the folders, print where")
    parser.add_argument("--limit-s", type=int, default=LIMIT_S, help="on a busy machine: more")
    parser.add_argument("-j", type=int, default=4 * len(os.sched_getaffinity(0)),
                        help="cases at a time")
    options = parser.parse_args()
    options.until = time.monotonic() + options.limit_s
    wanted = options.only.split("/")[:1] if options.only else options.group.split(",")
    groups = [group for group in GROUPS if group.name in wanted]
    if len(groups) != len(wanted):
        parser.error(f"the groups are {', '.join(known)}")
    print(f"torture: seed {options.seed}", flush=True)
    base = tempfile.mkdtemp(prefix="profrun-torture-")
    try:
        totals = [run_group(group, base, options) for group in groups]
    finally:
        common.DECODE.close()
        if options.keep:
            print(f"kept: {base}")
        else:
            shutil.rmtree(base, ignore_errors=True)
    n_runs, n_failed, n_late = (sum(column) for column in zip(*totals))
    for what in common.DECODE.missing() + [what for group in groups for what in group.missing()]:
        print(f"missing: {what}")
    print(f"decoded {common.DECODE.decoded} of {common.DECODE.traces} traces")
    print(f"torture: seed {options.seed}, {n_runs} runs, {n_failed} failures, {n_late} not run")
    return 1 if n_failed or n_late or not n_runs else 0


if __name__ == "__main__":
    sys.exit(main())
