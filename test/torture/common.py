"""What all groups of torture cases share: running programs bare and profiled, checking folders.

A case is a function that gets a Place and returns what went wrong, as a list of texts. It draws all
its random choices from the Place, whose seed is that of the whole run together with the case's
name. So a case can be repeated alone.
"""
import collections
import errno
import glob
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from harness import (  # noqa: E402
    BUILD,
    LAUNCHER,
    LIBRARY,
    TOOL,
    applications,
    collectors,
    environment,
    process_name,
    read_proc,
)

PROGRAMS = os.path.join(BUILD, "test", "prog")
DECODER = [os.path.join(BUILD, "perfetto-venv", "bin", "python"),
           os.path.join(ROOT, "test", "torture", "decode.py")]
PATIENCE_S = 300  # only a hang takes longer, also on a busy machine
DECODED_PER_RUN = 12  # of a run with more traces, as many are decoded, chosen at random

Case = collections.namedtuple("Case", "name run")
# cases: function(Random, is_short) that returns the cases; missing: function that returns what
# this machine lacks, each with the cases that are therefore left out.
Group = collections.namedtuple("Group", "name cases missing")
Ended = collections.namedtuple("Ended", "status out err")


def program(name, *arguments):
    return [os.path.join(PROGRAMS, name), *arguments]


def nothing_missing():
    return []


def is_built(name):
    return os.path.exists(os.path.join(PROGRAMS, name))


class Decoder:
    """The process that decodes traces. Used by several threads."""

    def __init__(self):
        self.lock, self.child, self.decoded, self.traces = threading.Lock(), None, 0, 0

    @staticmethod
    def missing():
        if os.path.exists(DECODER[0]):
            return []
        return ["Perfetto's Python package (`scripts/setup perfetto`): no trace is decoded"]

    def faults(self, paths, n_traces):
        with self.lock:
            self.traces += n_traces
            if self.missing():
                return []
            if not self.child:
                self.child = subprocess.Popen(DECODER, stdin=subprocess.PIPE, text=True,
                                              stdout=subprocess.PIPE)
            self.decoded += len(paths)
            self.child.stdin.write(json.dumps(paths) + "\n")
            self.child.stdin.flush()
            answer = self.child.stdout.readline()
            return json.loads(answer) if answer else ["the decoder died"]

    def close(self):
        if self.child:
            self.child.communicate()


DECODE = Decoder()


class Place:
    """Where one case runs: a folder of its own, and its random choices."""

    def __init__(self, base, seed, name):
        self.chance = random.Random(f"{seed}:{name}")
        self.base = base
        self.folder = os.path.join(base, "run")
        os.makedirs(base)

    @staticmethod
    def start(command, **options):
        """Starts a program that may have just been copied. A child that another thread forks
        meanwhile has the copy open for writing until its exec."""
        for _ in range(100):
            try:
                return subprocess.Popen(command, **options)
            except OSError as error:
                if error.errno != errno.ETXTBSY:
                    raise
                time.sleep(0.05)
        return subprocess.Popen(command, **options)

    def run(self, command, stdin=b"", cwd=None, **settings):
        """Runs a command to its end. Output is bytes, because hostile output is no text."""
        child = self.start(command, env=environment(**settings), cwd=cwd or self.base,
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = child.communicate(stdin, timeout=PATIENCE_S)
            return Ended(child.returncode, out, err)
        except subprocess.TimeoutExpired:
            kill_group(child)
            out, err = child.communicate()
            return Ended("does not end", out, err)

    def compare(self, command, profiled, stdin=b"", **settings):
        """Runs `command`, then `profiled`; returns whether both had the same status and output."""
        return differences(self.run(command, stdin, **settings),
                           self.run(profiled, stdin, **settings))

    def check(self, command, options=("--sim",), stdin=b"", is_launched=True, **settings):
        """Runs `command` bare and under profrun, and checks the folder that is left."""
        bare = self.run(command, stdin, **settings)
        if is_launched:
            line = [LAUNCHER, *options, "-o", self.folder, "--", *command]
            ours = self.run(line, stdin, **settings)
        else:
            preloads = ":".join(filter(None, (LIBRARY, settings.pop("LD_PRELOAD", ""))))
            ours = self.run(command, stdin, **{**settings, "LD_PRELOAD": preloads,
                                               "PROF_OUT": self.folder})
        return differences(bare, ours) + self.folder_faults()

    def folder_faults(self, folder=None, is_kept=False):
        """Returns what is wrong with a finished run's folder, and removes it."""
        folder = folder or self.folder
        found = check_folder(folder, self.chance)
        if not is_kept and not found:
            shutil.rmtree(folder, ignore_errors=True)
        return found


def kill_group(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def differences(bare, ours):
    if (bare.status, bare.out) == (ours.status, ours.out):
        return []
    at = len(os.path.commonprefix([bare.out, ours.out]))
    return [f"status {ours.status} instead of {bare.status}; output {ours.out[at:at + 200]!r} "
            f"instead of {bare.out[at:at + 200]!r} after {bare.out[max(at - 100, 0):at]!r}; "
            f"errors {shown(ours.err)}, bare {shown(bare.err)}"]


def shown(output):
    return repr(output[-300:])


def first_of(found):
    """Returns the first faults, and how many there are if there are more."""
    return found[:2] + ([f"... {len(found)} in all"] if len(found) > 2 else [])


def traces_of(folder):
    return glob.glob(os.path.join(glob.escape(folder), "traces", "*", "*.pftrace.gz"))


def has_threads(pid):
    """A killed process has no command line any more, but its files stay open until the last of its
    threads has run, which takes long for one of low priority."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    states = [read_proc(pid, f"task/{tid}/stat").rpartition(b")")[2].split() for tid in threads]
    return any(fields and fields[0] not in b"ZX" for fields in states)


def wait_for_end(folder, pids=()):
    """Waits until no process of the run is left, and none of `pids`; returns whether that was so in
    time."""
    until = time.monotonic() + PATIENCE_S
    while any(process_name(pid) for pid in applications(folder) + collectors(folder)) or any(
            has_threads(pid) for pid in pids):
        if time.monotonic() > until:
            for pid in collectors(folder):
                os.kill(pid, signal.SIGKILL)
            return False
        time.sleep(0.05)
    return True


def check_folder(folder, chance):
    """Returns what is wrong with a run's folder after the run has ended, however it did."""
    if not os.path.isdir(os.path.join(folder, "journal")):
        return []  # there was no CUDA call, or profrun said why it does not profile
    age_unfinished_journals(folder)
    return [*command_faults(folder), *trace_faults(folder, chance), *file_faults(folder)]


def age_unfinished_journals(folder):
    """Commands remove only old ones: a process of another namespace may be creating a new one."""
    for path in glob.glob(os.path.join(glob.escape(folder), "journal", "*.journal.new")):
        os.utime(path, (1, 1))


def command_faults(folder):
    found = []
    for words in ["info"], ["report"], ["export", "--format", "perfetto"]:
        try:
            done = subprocess.run([TOOL, words[0], folder, *words[1:]], capture_output=True,
                                  env=environment(), timeout=PATIENCE_S, check=False)
        except subprocess.TimeoutExpired:
            found.append(f"{words[0]} does not end")
            continue
        if done.returncode not in (0, 1) or (done.returncode and not done.stderr):
            found.append(f"{words[0]} ended with {done.returncode}: {shown(done.stderr)}")
        try:
            done.stdout.decode()
        except UnicodeError as error:
            found.append(f"{words[0]} prints what is not UTF-8: {error}")
    return found


def trace_faults(folder, chance):
    found, paths = [], sorted(traces_of(folder))
    for path in paths:
        try:
            with gzip.open(path) as file:
                file.read()
        except (EOFError, OSError, zlib.error) as error:
            found.append(f"{path}: {error}")
    chosen = chance.sample(paths, min(len(paths), DECODED_PER_RUN))
    return first_of(found) + first_of(DECODE.faults(chosen, len(paths)))


def file_faults(folder):
    found = [f"unfinished file: {path}/{name}" for path, _, files in os.walk(folder)
             for name in files if name.endswith((".part", ".journal.new"))]
    for name in "run.json", "report.json":
        path = os.path.join(folder, name)
        if os.path.exists(path):
            try:
                with open(path, encoding="utf-8") as file:
                    json.load(file)
            except ValueError as error:
                found.append(f"{name}: {error}")
    return found
