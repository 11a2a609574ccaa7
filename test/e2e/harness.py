"""Runs programs for the end-to-end tests on the simulated GPU.

They run bare, with libprofrun.so preloaded by hand, or under profrun.sh. Every run gets its own
folder under a temporary one, which is removed when the test class ends.
"""
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from journal import Journal, Record

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
SIM = os.path.join(BUILD, "sim")
LIBRARY = os.path.join(BUILD, "libprofrun.so")
LAUNCHER = os.path.join(ROOT, "profrun.sh")
TOOL = os.path.join(BUILD, "profrun")
# Lines printed by profrun: by the launcher, or by the library with its pid.
OWN_LINE = re.compile(r"profrun(\[\d+\])?: ")
EVERYTHING = {"PROF_SCHEDULE": "always"}
SANITIZED = "PROFRUN_SANITIZED" in os.environ  # the tool has AddressSanitizer (scripts/check-san)
SLOWER = 10 if SANITIZED else 1  # how much longer the tool takes
# For work that is quick on an idle machine: only a hang takes longer.
PATIENCE_S = 400 if SANITIZED else 100
PACED = {"PACE_MS": 50}  # makes test/prog/loop wait for the collector (test/prog/known.h)

# A background job of a script and a program under nohup inherit ignored signals. The programs that
# run here must have those of a terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())


def prog(name):
    """Returns the path of a built program; skips the test if it was not built (no nvcc)."""
    path = os.path.join(BUILD, "test", "prog", name)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"{name} is not built: there is no nvcc here")
    return path


def script(name):
    return [sys.executable, os.path.join(ROOT, "test", "prog", name)]


def unsanitized(why):
    """Skips a test if the tool has AddressSanitizer."""
    return unittest.skipIf(SANITIZED, f"not with AddressSanitizer: {why}")


KEEPS_UP = "the program does not wait for the collector"  # a reason for unsanitized()

# For tests of what is recorded after the opening, or without it.
NO_OPENING = {"PROF_OPENING": "off"}


def environment(**settings):
    """Returns this process's environment with `settings` in place of those of profrun and the
    simulated GPU. Programs find the simulated GPU's libraries first, unless PROFRUN_GPU=1."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("PROF_", "PROFSIM_")) and k != "LD_PRELOAD"}
    if env.get("PROFRUN_GPU") != "1":
        env["LD_LIBRARY_PATH"] = SIM
    env["PROFSIM_LAUNCH_US"] = "1"
    env.update({k: str(v) for k, v in settings.items()})
    return env


def hook_rows():
    """Returns the rows of build/hooks.txt: (symbol, door, category)."""
    with open(os.path.join(BUILD, "hooks.txt")) as file:
        return [tuple(line.split()) for line in file if line.strip()]


class Run:
    """A finished run."""

    def __init__(self, status, out, err, folder):
        self.status, self.out, self.err, self.folder = status, out, err, folder

    def paths(self, pattern):
        return sorted(glob.glob(os.path.join(glob.escape(self.folder), pattern)))

    def journals(self):
        return [Journal(path) for path in self.paths("journal/*.journal")]

    def journal(self):
        found = self.journals()
        assert len(found) == 1, f"{len(found)} journals; stderr: {self.err}"
        return found[0]

    def traces(self):
        return self.paths("traces/*/*.pftrace.gz")

    def trace_steps(self):
        """Returns the numbers of the steps that have a trace, in order."""
        return sorted(int(os.path.basename(path).split("-")[1].split(".")[0])
                      for path in self.traces())

    def traces_in_order(self):
        return sorted(self.traces(),
                      key=lambda path: int(os.path.basename(path).split("-")[1].split(".")[0]))

    @property
    def json(self):
        with open(os.path.join(self.folder, "run.json")) as file:
            return json.load(file)

    def own_lines(self):
        """Returns the lines of stderr that profrun printed."""
        return [line for line in self.err.splitlines() if OWN_LINE.match(line)]

    def other_err(self):
        """Returns stderr without profrun's lines and without the launcher's indented report."""
        others, is_report = [], False
        for line in self.err.splitlines():
            is_report = line.startswith("profrun: ") or (is_report and line.startswith("  "))
            if not is_report and not OWN_LINE.match(line):
                others.append(line + "\n")
        return "".join(others)


class Case(unittest.TestCase):
    SETTINGS = {}  # of each run; those of the call win

    @classmethod
    def setUpClass(cls):
        cls.base = tempfile.mkdtemp(prefix="profrun-e2e-")
        cls.counter = 0

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.base, ignore_errors=True)

    def folder(self):
        type(self).counter += 1
        return os.path.join(self.base, f"run{self.counter}")

    def execute(self, command, folder, env, stdin="", cwd=None, timeout=PATIENCE_S):
        command = [command] if isinstance(command, str) else list(command)
        child = subprocess.Popen(command, env=env, text=True, errors="replace",
                                 cwd=cwd or self.base, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True)
        try:
            out, err = child.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            self.fail(f"{command} did not end in {timeout} s; stdout: {out[-500:]}; stderr: "
                      f"{err[-2000:]}")
        return Run(child.returncode, out, err, folder)

    def environment(self, **settings):
        return environment(**{**self.SETTINGS, **settings})

    def bare(self, command, stdin="", **settings):
        return self.execute(command, self.folder(), self.environment(**settings), stdin)

    def preloaded(self, command, stdin="", **settings):
        """Runs `LD_PRELOAD=libprofrun.so CMD`, without launcher and collector."""
        folder = settings.get("PROF_OUT") or self.folder()
        return self.execute(command, folder,
                            self.environment(**{"LD_PRELOAD": LIBRARY, "PROF_OUT": folder,
                                                **settings}),
                            stdin)

    def launched(self, command, options=(), **settings):
        """Returns the command line of a run under profrun.sh, its folder and its environment."""
        folder = self.folder()
        command = [command] if isinstance(command, str) else list(command)
        return [LAUNCHER, "--sim", "-o", folder, *options, "--",
                *command], folder, self.environment(**settings)

    def profiled(self, command, options=(), stdin="", timeout=PATIENCE_S, **settings):
        line, folder, env = self.launched(command, options, **settings)
        return self.execute(line, folder, env, stdin, timeout=timeout)

    def profiled_on_schedule(self, command, **settings):
        """Like profiled(). Without the opening, the schedule begins late if the collector gets no
        CPU before the first step that it asks for; such a run is repeated."""
        for _ in range(5):
            run = self.profiled(command, **settings)
            if not any(p["steps"]["schedule_shift"] for p in run.json["processes"]):
                break
        return run

    def tool(self, *arguments, **settings):
        """Runs profrun.sh with a subcommand."""
        return self.execute([LAUNCHER, *arguments], self.base, environment(**settings))

    def eventually(self, what, condition, within_s=PATIENCE_S):
        """Waits until condition() is true and returns its value."""
        until = time.monotonic() + within_s
        while not (found := condition()):
            if time.monotonic() > until:
                self.fail(f"not within {within_s} s: {what}")
            time.sleep(0.01)
        return found

    def stop_collector(self, folder):
        """Stops the run's collector, so that it reads nothing more; returns its process id."""
        pid = self.collector(folder)
        os.kill(pid, signal.SIGSTOP)
        self.eventually("the collector stops", lambda: has_stopped(pid))
        return pid

    def collector(self, folder):
        """Returns the process id of the run's collector; waits until it has started."""
        return self.eventually("the collector starts", lambda: collectors(folder))[0]


def read_proc(pid, name):
    """Returns the bytes of /proc/PID/NAME; empty if the process has ended."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def has_stopped(pid):
    """Whether all threads of the process are stopped by a signal, or have ended."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    return all(read_proc(pid, f"task/{thread}/stat").rpartition(b") ")[2][:1] in (b"T", b"")
               for thread in threads)


def collectors(folder):
    """Process ids of the collectors that write to `folder`."""
    found = (
        (int(pid), read_proc(pid, "cmdline").split(b"\0"))
        for pid in os.listdir("/proc")
        if pid.isdigit()
    )
    return [pid for pid, words in found if b"collect" in words and folder.encode() in words]


def children(pid):
    return [int(word) for word in read_proc(pid, f"task/{pid}/children").split()]


def process_name(pid):
    """None where it has gone or is a zombie."""
    fields = dict(
        line.split(":\t", 1)
        for line in read_proc(pid, "status").decode().splitlines()
        if ":\t" in line
    )
    return None if fields.get("State", "Z").startswith("Z") else fields["Name"]


def applications(folder):
    """Returns the ids of the processes that have a journal in the run's folder. A journal that is
    being created has two names for a moment."""
    try:
        return sorted({int(name.split(".")[0])
                       for name in os.listdir(os.path.join(folder, "journal"))})
    except FileNotFoundError:
        return []


def journals(folder):
    """Returns the journals of a run in progress, without those that are still being created."""
    found = []
    for path in Run(0, "", "", folder).paths("journal/*.journal"):
        try:
            found.append(Journal(path))
        except (AssertionError, ValueError, struct.error):
            continue
    return found


def truth(path):
    """Returns what ran on the simulated GPU according to itself, in order."""
    rows = []
    with open(path) as file:
        for line in file:
            kind, name, stream, start, end, correlation, _, size, *_ = line.split()
            rows.append(Record(work=kind.split("_")[0], kind=kind, name=name, stream=int(stream),
                               start=int(start), end=int(end), correlation=int(correlation),
                               bytes=int(size)))
    return rows
