"""Kills parts of runs at random instants: launcher, collector, application, or several of them.

No step that was closed before the kill may be lost, and no process may stay. The instants are
spread over the time that a run takes to its end, including the collector's work after the program,
and half of them over the time that the program takes.
"""
import functools
import os
import shutil
import signal
import subprocess
import threading
import time

import common
from harness import LAUNCHER, applications, collectors, environment

# Who gets which signals, one after another.
KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
KINDS = {
    "application-KILL": [("application", KILL)],
    "application-TERM": [("application", TERM)],
    "application-SEGV": [("application", signal.SIGSEGV)],
    "application-ABRT": [("application", signal.SIGABRT)],
    "launcher-KILL": [("launcher", KILL)],
    "launcher-TERM": [("launcher", TERM)],
    "launcher-INT-twice": [("launcher", INT), ("launcher", INT)],
    "collector-KILL": [("collector", KILL)],
    "collector-TERM": [("collector", TERM)],
    "launcher-and-collector-KILL": [("launcher", KILL), ("collector", KILL)],
    "group-KILL": [("group", KILL)],
    "all-KILL": [("launcher", KILL), ("collector", KILL), ("application", KILL)],
}
PROGRAMS = {"plain": ["loop", "400", "plain", "1000"], "bare": ["loop", "1500", "bare", "200"]}
ABOUT_THE_PROGRAM_S = 1  # so long the programs run; on a busy machine the collector takes longer
INSTANTS, INSTANTS_SHORT = 20, 1


def start(place, command):
    line = [LAUNCHER, "--sim", "-o", place.folder, "--schedule", "always", "--", *command]
    return subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def ended(child):
    """Waits for the launcher; returns whether it ended by itself."""
    try:
        child.wait(common.PATIENCE_S)
        return True
    except subprocess.TimeoutExpired:
        common.kill_group(child)
        child.wait()
        return False


class Length:
    """The time that a run of a program takes here, measured once by the first case."""

    def __init__(self):
        self.lock, self.length_s = threading.Lock(), 0

    def measured(self, place, command):
        with self.lock:
            if not self.length_s:
                begun = time.monotonic()
                ended(start(place, command))
                self.length_s = time.monotonic() - begun
                shutil.rmtree(place.folder, ignore_errors=True)
            return self.length_s


def send(who, number, child, folder):
    if who in ("launcher", "group"):
        pids = [child.pid]
    else:
        pids = (collectors if who == "collector" else applications)(folder)
    try:
        for pid in pids[:1]:
            (os.killpg if who == "group" else os.kill)(pid, number)
    except ProcessLookupError:
        pass


def one_kill(signals, command, length, place):
    length_s = length.measured(place, command)
    longest_s = place.chance.choice((length_s, min(length_s, ABOUT_THE_PROGRAM_S)))
    delay_s = place.chance.uniform(0, 1) * longest_s
    child = start(place, command)
    time.sleep(delay_s)
    before = len(common.traces_of(place.folder))
    collecting = collectors(place.folder)
    for who, number in signals:
        send(who, number, child, place.folder)
    found = [] if ended(child) else ["the launcher hangs"]
    if not common.wait_for_end(place.folder, collecting):
        return [*found, "a process of the run stays"]
    found += place.folder_faults(is_kept=True)
    after = len(common.traces_of(place.folder))
    if after < before:
        found.append(f"{before} closed steps before the kill, {after} after it")
    return [f"killed after {delay_s:.2f} s: {fault}" for fault in found]


def cases(_chance, is_short):
    lengths = {name: Length() for name in PROGRAMS}
    for kind, signals in KINDS.items():
        for name, command in PROGRAMS.items():
            if is_short and name != "plain":
                continue
            for i in range(INSTANTS_SHORT if is_short else INSTANTS):
                yield common.Case(f"{kind}/{name}/{i}", functools.partial(
                    one_kill, signals, common.program(*command), lengths[name]))


GROUP = common.Group("kills", cases, common.nothing_missing)
