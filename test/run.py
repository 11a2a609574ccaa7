#!/usr/bin/env python3
"""Runs the tests and ends with the line `N passed, N failed`; exit status 1 when anything failed.

usage: test/run.py [--tier NAME[,NAME]] [-k TEXT] [-v]

A tier is a row of TIERS below: unit (cmocka programs in build/test/unit, two at a time), check (scripts that look at what was
built, and tests of scripts), sim, e2e, browser and answers (programs with planted causes: what of the report does not hang on time); torch
and torch-timed run only when asked for. Whatever tests a tier finds, each is counted by its own name; a program that dies or runs out of time
counts as one failure more. The output of what failed is shown whole, of what passed not at all. Exit status 77 of a
program, or a `skip` line, is a skip; its reason is printed.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIP = 77  # exit status, as automake has it

# Lines of cmocka's TAP, of the shell runners and of this file's own child for unittest files.
RESULT = re.compile(r"^(ok|not ok|skip) (?:\d+ )?(?:- )?(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")


class Report:
    """What a program's run gave: names by outcome, and all that it printed."""

    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped, self.output, self.seconds = name, [], [], [], "", 0.0


def read_results(report, text):
    """Counts the result lines in text; returns how many tests the program promised, or None."""
    planned = None
    for line in text.splitlines():
        plan, result = PLAN.match(line), RESULT.match(line)
        if plan:
            planned = int(plan.group(1))
        elif result:
            outcome, what = result.groups()
            if what.startswith("# SKIP"):
                report.skipped.append(what[6:].strip())
            else:
                {"ok": report.passed, "not ok": report.failed, "skip": report.skipped}[outcome].append(what)
    return planned


def run_program(name, command, limit_s, own_results=False):
    """Runs a program in a process group of its own, which is gone when this returns."""
    report, began, late_s = Report(name), time.monotonic(), None
    env = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+", errors="replace") as results:
        child = subprocess.Popen(command + ([str(results.fileno())] if own_results else []), cwd=ROOT, env=env, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, pass_fds=(results.fileno(),), start_new_session=True)
        try:
            report.output, _ = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            late_s = limit_s
            kill_group(child)
            report.output, _ = child.communicate()
        finally:
            kill_group(child)
        results.seek(0)
        planned = read_results(report, results.read() if own_results else report.output)
    judge(report, planned, child.returncode, late_s)
    report.seconds = time.monotonic() - began
    return report


def kill_group(child):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def judge(report, planned, status, late_s):
    """Adds what no result line can say: a death, a time-out, an exit status that the lines do not explain."""
    counted = len(report.passed) + len(report.failed) + len(report.skipped)
    if late_s:
        report.failed.append(f"stopped after {late_s} s")
    elif status < 0:
        report.failed.append(f"killed by {signal.Signals(-status).name}")
    elif status == SKIP and not counted:
        report.skipped.append((report.output.strip().splitlines() or ["no reason given"])[-1])
    elif planned is not None and counted < planned:
        report.failed.append(f"ended after {counted} of {planned} tests, with status {status}")
    elif status and not report.failed:
        report.failed.append(f"exit status {status}")
    elif not counted:
        report.failed.append("ran no test")


class LineResult(unittest.TestResult):
    """Writes a line for each test to a file that nothing else writes to, so that no test's output can look like one."""

    def __init__(self, file):
        super().__init__()
        self.buffer = True
        self.file = file

    def line(self, outcome, test, why=""):
        what = test.id() if hasattr(test, "id") else str(test)
        self.file.write(f"{outcome} {what}{': ' + why if why else ''}\n")
        self.file.flush()

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line("not ok", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.line("not ok", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.line("not ok", subtest)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line("skip", test, reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.line("not ok", test, "expected to fail")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.line("ok", test)


def unittest_child(path, pattern, fd):
    """The program that runs one test_*.py: result lines to fd, everything else to standard output."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*"] if pattern else None
    with os.fdopen(fd, "w") as file:
        os.set_inheritable(fd, False)
        result = LineResult(file)
        loader.loadTestsFromName(os.path.basename(path)[:-3]).run(result)
        for test, text in result.failures + result.errors:
            print(f"== {test}\n{text}", flush=True)
        if pattern and not result.testsRun:
            print("no test of that name")
            return SKIP
    return 0 if result.wasSuccessful() else 1


def unit_programs(_):
    built = sorted(glob.glob(os.path.join(ROOT, "build/test/unit/test_*")))
    sources = {os.path.basename(path)[:-2] for path in glob.glob(os.path.join(ROOT, "test/unit/test_*.c"))}
    return [(os.path.basename(path), [path], 180, False) for path in built if os.path.basename(path) in sources]


def check_programs(pattern):
    of_library = [("check-so", ["scripts/check-so"], 60, False)] if os.path.exists(os.path.join(ROOT, "build/libprofrun.so")) else []
    return of_library + folder_programs("check", 120)(pattern)


# What these find hangs on how fast the machine is and on who else uses it: verdicts, milliseconds, eight ranks on two cores.
TIMED = {"torch": ("test_ranks.py", "test_reports.py", "test_steps.py")}


def folder_programs(folder, limit_s, timed=False):
    """run-tests.sh of a folder under test/, and every test_*.py there, either those of TIMED or the others."""
    def find(pattern):
        script = os.path.join(ROOT, "test", folder, "run-tests.sh")
        found = [(f"{folder}/run-tests.sh", ["sh", script], limit_s, False)] if os.path.exists(script) else []
        for path in sorted(glob.glob(os.path.join(ROOT, "test", folder, "test_*.py"))):
            if (os.path.basename(path) in TIMED.get(folder, ())) != timed:
                continue
            command = [sys.executable, os.path.abspath(__file__), "--unittest", path, pattern or ""]
            found.append((f"{folder}/{os.path.basename(path)}", command, limit_s, True))
        return found
    return find


# Name, what finds its programs, how many at a time: those that measure time run alone. PyTorch takes most of its time to start.
TIERS = {
    "unit": (unit_programs, 2),
    "check": (check_programs, 1),
    "sim": (folder_programs("sim", 600), 1),
    "e2e": (folder_programs("e2e", 900), 1),
    "browser": (folder_programs("browser", 300), 1),
    "answers": (folder_programs("answers", 900), 1),
    "torch": (folder_programs("torch", 1200), 2),
    "torch-timed": (folder_programs("torch", 1200, timed=True), 1),
}
DEFAULT_TIERS = [name for name in TIERS if not name.startswith("torch")]


def show(report, verbose):
    if verbose or report.failed:
        print(f"---- {report.name}\n{report.output.rstrip()}\n----")
    for what in report.failed:
        print(f"FAILED {report.name}: {what}")
    outcome = f"{len(report.passed)} passed, {len(report.failed)} failed"
    print(f"{report.name}: {outcome}{f', {len(report.skipped)} skipped' if report.skipped else ''} ({report.seconds:.1f} s)",
          flush=True)


def run_tier(tier, pattern, verbose):
    find, at_a_time = TIERS[tier]
    programs = find(pattern)
    if pattern:  # a name of a test picks inside unittest files, a name of a program picks the rest
        programs = [row for row in programs if row[3] or pattern in row[0]]
    reports = []
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        for future in [pool.submit(run_program, *row) for row in programs]:
            reports.append(future.result())
            if not (pattern and reports[-1].skipped == ["no test of that name"]):
                show(reports[-1], verbose)
    return reports


def conclude(reports):
    """Prints the reasons of the skips, then the line that everything ends with; returns the exit status."""
    skipped = [(report.name, why) for report in reports for why in report.skipped if why != "no test of that name"]
    for name, why in skipped:
        print(f"skipped {name}: {why}")
    if skipped:
        print(f"{len(skipped)} skipped")
    failed = sum(len(report.failed) for report in reports)
    print(f"{sum(len(report.passed) for report in reports)} passed, {failed} failed")
    return 1 if failed else 0


def main():
    if sys.argv[1:2] == ["--unittest"]:
        return unittest_child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default=",".join(DEFAULT_TIERS), help="of " + ", ".join(TIERS))
    parser.add_argument("-k", metavar="TEXT", help="only tests, or programs, with this in their name")
    parser.add_argument("-v", action="store_true", help="show all output")
    args = parser.parse_args()
    unknown = [tier for tier in args.tier.split(",") if tier not in TIERS]
    if unknown:
        parser.error(f"no tier '{unknown[0]}': there are {', '.join(TIERS)}")
    reports = [report for tier in args.tier.split(",") for report in run_tier(tier, args.k, args.v)]
    return conclude(reports)


if __name__ == "__main__":
    sys.exit(main())
