#!/usr/bin/env python3
"""Kills parts of runs at random instants and checks what remains.

usage: test/torture/kills.py [--seed N] [--instants N] [--programs N]

Each of the 12 kinds of kill is tried at N instants (20) of two programs on the simulated GPU. After
each, every trace must be complete, no step that was closed before the kill may be lost, every
command must accept the folder, and no unfinished file may remain. Prints one line per kind and
program, and ends with `N kills, N failures`. Exit status 1 if anything failed.
"""
import argparse
import glob
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from harness import (  # noqa: E402
    LAUNCHER,
    applications,
    collectors,
    environment,
    process_name,
    prog,
)

# Who gets which signals, one after another.
KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
KINDS = {
    "application KILL": [("application", KILL)],
    "application TERM": [("application", TERM)],
    "application SEGV": [("application", signal.SIGSEGV)],
    "application ABRT": [("application", signal.SIGABRT)],
    "launcher KILL": [("launcher", KILL)],
    "launcher TERM": [("launcher", TERM)],
    "launcher INT twice": [("launcher", INT), ("launcher", INT)],
    "collector KILL": [("collector", KILL)],
    "collector TERM": [("collector", TERM)],
    "launcher and collector KILL": [("launcher", KILL), ("collector", KILL)],
    "group KILL": [("group", KILL)],
    "all KILL": [("launcher", KILL), ("collector", KILL), ("application", KILL)],
}
PROGRAMS = (["loop", "3000", "plain", "100"], ["loop", "20000", "bare"])
PATIENCE_S = 100


def pid_of(who, child, folder):
    if who in ("launcher", "group"):
        return child.pid
    found = collectors(folder) if who == "collector" else applications(folder)
    return found[0] if found else 0


def send(who, number, child, folder):
    pid = pid_of(who, child, folder)
    try:
        if pid:
            (os.killpg if who == "group" else os.kill)(pid, number)
    except ProcessLookupError:
        pass


def closed_steps(folder):
    """Returns how many traces the run has written so far."""
    return len(glob.glob(os.path.join(folder, "traces", "*", "*.pftrace.gz")))


def wait_for_end(folder):
    """Waits until no process of the run is left. The application ends by itself if it lives."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        alive = [pid for pid in applications(folder) + collectors(folder) if process_name(pid)]
        if not alive:
            return True
        time.sleep(0.02)
    return False


def faults(folder, before):
    """Returns what is wrong with a run's folder after a kill."""
    found = []
    if not os.path.isdir(os.path.join(folder, "journal")):
        return found  # it was killed before the first CUDA call
    for words in ["info"], ["report"], ["export", "--format", "perfetto"]:
        tool = subprocess.run([LAUNCHER, words[0], folder, *words[1:]], capture_output=True,
                              text=True, env=environment(), timeout=PATIENCE_S, check=False)
        if tool.returncode not in (0, 1) or (tool.returncode and not tool.stderr):
            found.append(f"{words[0]} ended with {tool.returncode}")
    for path in glob.glob(os.path.join(folder, "traces", "*", "*.pftrace.gz")):
        try:
            with gzip.open(path) as file:
                file.read()
        except (EOFError, OSError) as error:
            found.append(f"{path}: {error}")
    if closed_steps(folder) < before:
        found.append(f"{before} closed steps before the kill, {closed_steps(folder)} after it")
    left = [name for _, _, files in os.walk(folder) for name in files if name.endswith(".part")]
    if left:
        found.append(f"unfinished files: {left}")
    for name in "run.json", "report.json":
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                json.load(file)
    return found


def one_kill(kind, program, base, delay_s):
    folder = os.path.join(base, "run")
    shutil.rmtree(folder, ignore_errors=True)
    command = [prog(program[0]), *program[1:]]
    child = subprocess.Popen([LAUNCHER, "--sim", "-o", folder, "--schedule", "always", "--",
                              *command], env=environment(), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay_s)
    before = closed_steps(folder)
    for who, number in KINDS[kind]:
        send(who, number, child, folder)
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, KILL)
        child.wait()
        return ["the launcher hangs"]
    if not wait_for_end(folder):
        for pid in collectors(folder):
            os.kill(pid, KILL)
        return ["a process of the run is left"]
    return faults(folder, before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--instants", type=int, default=20)
    parser.add_argument("--programs", type=int, default=len(PROGRAMS))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    n_kills = n_failed = 0
    print(f"kills: seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="profrun-torture-") as base:
        for program in PROGRAMS[:options.programs]:
            for kind in KINDS:
                failed = []
                for _ in range(options.instants):
                    delay_s = chance.uniform(0, 1)
                    failed += [(delay_s, fault) for fault in one_kill(kind, program, base, delay_s)]
                n_kills += options.instants
                n_failed += len(failed)
                print(f"{' '.join(program)}: {kind}: {options.instants} kills, "
                      f"{len(failed)} failures", *failed, flush=True)
    print(f"{n_kills} kills, {n_failed} failures")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
