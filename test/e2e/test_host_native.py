"""Host samples of native code: the lines of C++ functions that are blocked between two CUDA calls.

test/prog/host_native.cpp does known work. Without optimization, the unwinder has to find the ends
of frames without bp; with optimization, functions are inlined.
"""
import ctypes
import json
import os
import platform
import re
import struct
import subprocess
import sys
import unittest

from harness import EVERYTHING, ROOT, Case, prog
from test_python_frames import INTERPRETERS

KINDS = {"sleep_part": "sleep", "wait_part": "lock", "read_part": "io"}
CALLED = {"sleep_part": "usleep", "wait_part": "pthread_mutex_lock", "read_part": "read"}
POINTS = 5
# each synchronization ends a step
SETTINGS = {**EVERYTHING, "PROF_STEP": "sync"}


def is_perf_allowed():
    """Returns whether this system lets a process sample its own threads in user code."""
    number = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    exclude_kernel_and_hypervisor = 3 << 5
    # type, size, config, period, sample type, read format, flags
    attributes = struct.pack("=IIQQQQQ72x", 1, 120, 1, 1000000, 0, 0,
                             exclude_kernel_and_hypervisor)
    file = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 0)
    if file >= 0:
        os.close(file)
    return file >= 0


class HostNative(Case):
    def sampled(self, program, *arguments, **settings):
        """Returns the times that the program measured, and its process in report.json."""
        run = self.profiled([prog(program), *map(str, arguments)], **{**SETTINGS, **settings})
        self.assertEqual(run.status, 0, run.err)
        report = json.loads(self.tool("report", run.folder, "--json").out)
        return json.loads(run.out), report["processes"][0], run

    def repeatedly(self, check):
        """Checks with more iterations if it fails: on a busy machine samples are few and far
        between."""
        for iterations in (40, 80):
            try:
                return check(iterations)
            except AssertionError as error:
                print(f"# {iterations} iterations: {error}")
        return check(160)

    def check_blocked(self, program, n):
        took, process, _ = self.sampled(program, n, *KINDS)
        rows = process["host"]
        all_ms = sum(row["self_ms_per_step"] for row in rows)
        for name, kind in KINDS.items():
            own = [row for row in rows if row["function"] == name]
            self.assertTrue(all(row["file"].endswith("host_native.cpp") for row in own))
            seen = 100 * sum(row["total_ms_per_step"] for row in own) / all_ms
            true = 100 * took[name] / sum(took.values())
            self.assertAlmostEqual(seen, true, delta=POINTS,
                                   msg=f"{name}: {seen:.1f} % of the samples, {true:.1f} % of "
                                   f"the time")
            right = [row for row in own if row["kind"] == kind]
            # a thread that has slept waits for a CPU: it then counts as running
            self.assertGreater(sum(row["total_ms_per_step"] for row in right),
                               0.5 * 1e3 * took[name] / n, f"{name}: {rows}")
        whole = [row for row in rows if row["function"] == "main"]
        self.assertGreater(sum(row["total_ms_per_step"] for row in whole), 0.9 * all_ms, rows)

    def test_blocked(self):
        """A blocked thread's time belongs to the user's functions, whole stacks included."""
        for program in ("host_native_O0", "host_native_O2"):
            with self.subTest(program=program):
                self.repeatedly(lambda n: self.check_blocked(program, n))

    def share(self, rows, name):
        """Percent of the CPU time between CUDA calls that the function has."""
        return 100 * sum(row["total_ms_per_step"] for row in rows if row["function"] == name) / \
            sum(row["self_ms_per_step"] for row in rows)

    def check_running(self, program, n):
        took, process, run = self.sampled(program, n)
        self.assertEqual(run.journal().info["native host stacks"],
                         "blocked threads; running threads by perf")
        rows = process["host"]
        for name in took:
            self.assertAlmostEqual(self.share(rows, name), 100 * took[name] / sum(took.values()),
                                   delta=POINTS, msg=name)
        spin = [row for row in rows if row["function"] == "spin_part"]
        self.assertTrue(all(row["kind"] == "native" for row in spin), spin)
        self.assertGreater(self.share(rows, "main"), 90, rows)

    def test_running(self):
        """A running thread's time belongs to the function that spins, where perf is allowed."""
        if not is_perf_allowed():
            self.skipTest("perf_event_open is not allowed here")
        for program in ("host_native_O0", "host_native_O2"):
            with self.subTest(program=program):
                self.repeatedly(lambda n: self.check_running(program, n))

    def check_woken(self, n):
        cpu = min(os.sched_getaffinity(0))
        busy = subprocess.Popen([sys.executable, "-c", "import os\n"
                                 f"os.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"])
        try:
            took, process, _ = self.sampled("host_native_O2", n, "sleep_part", ON_CPU=cpu)
        finally:
            busy.kill()
            busy.wait()
        slept_ms = sum(row["total_ms_per_step"] for row in process["host"]
                       if (row["function"], row["kind"]) == ("sleep_part", "sleep"))
        self.assertGreater(slept_ms, 0.9 * 1e3 * took["sleep_part"] / n, process["host"])

    def test_woken(self):
        """A thread that has slept, and waits for a CPU since, is still where it slept."""
        self.repeatedly(self.check_woken)

    def test_python_that_calls_c(self):
        """The time is that of the C function, and within the Python function that called it."""
        minors = [minor for minor in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
                  if minor in INTERPRETERS]
        for minor in minors:
            version, python = INTERPRETERS[minor][0]
            with self.subTest(version=version):
                run = self.profiled([python, os.path.join(ROOT, "test/prog/host_ctypes.py"),
                                     prog("host_extension.so"), "60"], **SETTINGS)
                self.assertEqual(run.status, 0, run.err)
                rows = json.loads(self.tool("report", run.folder, "--json").out)
                rows = rows["processes"][0]["host"]
                slept = {row["function"]: row for row in rows
                         if row["kind"] == "sleep" and row["self_ms_per_step"] > 5}
                self.assertEqual(set(slept), {"nap_deeper", "call_python"})
                self.assertEqual(os.path.basename(slept["nap_deeper"]["file"]),
                                 "host_extension.c")
                # on a busy machine, one of two equal sleeps takes longer than the other
                for name, least in (("nap_in_c", 25), ("call_c", 25), ("call_python", 25),
                                    ("main", 80)):
                    self.assertGreater(self.share(rows, name), least, (name, rows))
                self.check_order(run)

    def check_order(self, run):
        """Native frames follow the Python function that called them. The interpreter's own frames
        are left out where Python's take their place."""
        self.assertEqual(self.tool("export", "--format", "folded", run.folder).status, 0)
        lines = []
        for path in run.paths("folded/*/*.folded"):
            with open(path) as file:
                lines += [line for line in file if ";sleeping " in line]
        of_c = re.compile(r"blocked;<module> \(\S+;main \(\S+;call_c \(\S+;(.*;)?"
                          r"nap_in_c \(\S+;nap_deeper \(\S+;usleep;")
        of_python = re.compile(r"blocked;<module> \(\S+;main \(\S+;call_python \(\S+;.*"
                               r"(nanosleep|select)[^;]*;sleeping ")
        for order in (of_c, of_python):
            self.assertGreater(sum(bool(order.match(line)) for line in lines), 30)
        wrong = [line for line in lines if not of_c.match(line) and not of_python.match(line)
                 or "_PyEval_" in line or "__libc_start" in line]
        self.assertLess(len(wrong), 0.1 * len(lines), wrong)

    def test_called(self):
        """A row names the library's function that its line called."""
        _, process, _ = self.sampled("host_native_O2", 40, *KINDS)
        for name, kind in KINDS.items():
            row = next(row for row in process["host"]
                       if row["kind"] == kind and row["self_ms_per_step"] > 0)
            self.assertIn(CALLED[name], row["native_function"])
            self.assertTrue(row["native_library"].startswith(("libc.", "libpthread")))


if __name__ == "__main__":
    unittest.main()
