#!/usr/bin/env python3
"""Runs the tests and ends with the line `N passed, N failed`; exit status 1 when anything failed.

usage: test/run.py [--tier NAME[,NAME]] [-k TEXT] [-j N] [-v] [--slowest N] [--again N]

A tier is a row of TIERS below: unit (cmocka programs in build/test/unit), check (scripts that
inspect what was built), sim, e2e, browser and answers (programs with planted causes); torch and
torch-timed run only when asked for. All programs of the tiers run in parallel, the long ones first:
twice as many as there are processors, since most of them wait most of the time. So a test must not
depend on how promptly it is scheduled. The tiers of EXCLUSIVE measure time: their programs run
alone.

Each test counts under its own name; a program that dies or runs out of time counts as one more
failure. The output of a program is shown in full if it failed, else not at all. Exit status 77 of a
program, or a `skip` line, is a skip; its reason is printed.

With --again, if at most N programs failed, their failed tests run once more, alone. If they pass
then, they are listed as unstable and do not count as failures. They depend on the load or are rare:
look at them.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import glob
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIP = 77  # exit status, as in automake

# Lines of cmocka's TAP, of the shell runners, and of this file's own child for unittest files.
RESULT = re.compile(r"^(ok|not ok|skip) (?:\d+ )?(?:- )?(.*)$")
TOOK = re.compile(r"^took (\S+) s: (.*)$")  # only of this file's own child
PLAN = re.compile(r"^1\.\.(\d+)")


# own_results: the program takes the number of a descriptor as its last argument, and writes its
# result lines to it.
Program = collections.namedtuple("Program", "name command limit_s own_results", defaults=(False,))


class Report:
    """Names of a program's tests by outcome, its output, and how many seconds each test took."""

    def __init__(self, name):
        self.name, self.output, self.seconds = name, "", 0.0
        self.passed, self.failed, self.skipped, self.took = [], [], [], []
        self.unstable = []  # what failed among other programs and passed alone


def read_results(report, text):
    """Counts the result lines in text; returns how many tests the program promised, or None."""
    planned = None
    for line in text.splitlines():
        plan, result, took = PLAN.match(line), RESULT.match(line), TOOK.match(line)
        if plan:
            planned = int(plan.group(1))
        elif took:
            report.took.append((float(took.group(1)), took.group(2)))
        elif result:
            outcome, what = result.groups()
            if what.startswith("# SKIP"):
                report.skipped.append(what[6:].strip())
            else:
                by_outcome = {"ok": report.passed, "not ok": report.failed, "skip": report.skipped}
                by_outcome[outcome].append(what)
    return planned


def run_program(program):
    """Runs a program in its own process group; no process of it is left when this returns."""
    name, command, limit_s, own_results = program
    report, began, late_s = Report(name), time.monotonic(), None
    env = {**os.environ, "CMOCKA_MESSAGE_OUTPUT": "TAP", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile("w+", errors="replace") as results:
        arguments = [str(results.fileno())] if own_results else []
        child = subprocess.Popen(command + arguments, cwd=ROOT, env=env, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, pass_fds=(results.fileno(),),
                                 start_new_session=True)
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
    report.took = report.took or [(report.seconds, name)]
    return report


def kill_group(child):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def judge(report, planned, status, late_s):
    """Adds failures without a result line: a death, a time-out, an unexplained exit status."""
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
    """Writes a line for each test to a file that only this writes to.

    So no test's output can look like a result. A test that takes longer than limit_s fails, with a
    traceback of where it waits, and the next one runs.
    """

    def __init__(self, file, limit_s):
        super().__init__()
        self.buffer = True
        self.file = file
        self.limit_s = limit_s
        self.began = 0.0
        signal.signal(signal.SIGALRM, self.too_late)

    def too_late(self, *_):
        raise TimeoutError(f"the test took longer than {self.limit_s} s")

    def line(self, outcome, test, why=""):
        what = test.id() if hasattr(test, "id") else str(test)
        self.file.write(f"{outcome} {what}{': ' + why if why else ''}\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        signal.alarm(self.limit_s)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)
        self.file.write(f"took {time.monotonic() - self.began:.2f} s: {test.id()}\n")

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


def load_file(path, pattern):
    """Returns the tests of one test_*.py whose full names contain the pattern."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{pattern}*"] if pattern else None
    return list(flatten(loader.loadTestsFromName(os.path.basename(path)[:-3])))


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def list_child(pattern, *paths):
    """Prints, for each test_*.py, its path and the names of the classes that have tests."""
    for path in paths:
        with contextlib.redirect_stdout(io.StringIO()):
            names = dict.fromkeys(type(test).__name__ for test in load_file(path, pattern))
        if names:
            print(path, *names)
    return 0


def unittest_child(path, name, limit_s, pattern, fd):
    """Runs one class of a test_*.py: result lines to fd, everything else to standard output.

    limit_s: of each test.
    """
    with os.fdopen(fd, "w") as file:
        os.set_inheritable(fd, False)
        result = LineResult(file, limit_s)
        unittest.TestSuite(
            test for test in load_file(path, pattern) if type(test).__name__ == name
        ).run(result)
        for test, text in result.failures + result.errors:
            print(f"== {test}\n{text}", flush=True)
    return 0 if result.wasSuccessful() else 1


def unit_programs(pattern):
    built = sorted(glob.glob(os.path.join(ROOT, "build/test/unit/test_*")))
    sources = glob.glob(os.path.join(ROOT, "test/unit/test_*.c"))
    sources = {os.path.basename(path)[:-2] for path in sources}
    programs = [
        Program(os.path.basename(path), [path], 300)
        for path in built
        if os.path.basename(path) in sources
    ]
    return picked(programs, pattern)


def picked(programs, pattern):
    return [program for program in programs if not pattern or pattern in program.name]


def check_programs(pattern):
    built = os.path.exists(os.path.join(ROOT, "build/libprofrun.so"))
    of_library = [Program("check-so", ["scripts/check-so"], 120)] if built else []
    return picked(of_library, pattern) + folder_programs("check", 120)(pattern)


# Their results depend on how fast the machine is and on who else uses it: verdicts, milliseconds,
# eight ranks on two cores.
TIMED = {"torch": ("test_ranks.py", "test_reports.py", "test_steps.py")}


def folder_programs(folder, limit_s, timed=False):
    """Finds run-tests.sh of a folder under test/, and each class of its test_*.py.

    timed: of the files in TIMED only, else of all others.
    """
    def find(pattern):
        script = os.path.join(ROOT, "test", folder, "run-tests.sh")
        found = picked(
            (
                [Program(f"{folder}/run-tests.sh", ["sh", script], limit_s)]
                if os.path.exists(script)
                else []
            ),
            pattern,
        )
        paths = [path for path in sorted(glob.glob(os.path.join(ROOT, "test", folder, "test_*.py")))
                 if (os.path.basename(path) in TIMED.get(folder, ())) == timed]
        own = [sys.executable, os.path.abspath(__file__)]
        listed = subprocess.run(
            [*own, "--list", pattern or "", *paths],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for path, *classes in map(str.split, listed.stdout.splitlines()):
            found += [
                Program(
                    f"{folder}/{os.path.basename(path)} {name}",
                    [*own, "--unittest", path, name, str(limit_s // 2), pattern or ""],
                    limit_s,
                    True,
                )
                for name in classes
            ]
        return found
    return find


# Name: the function that finds its programs.
TIERS = {
    "unit": unit_programs,
    "check": check_programs,
    "sim": folder_programs("sim", 600),
    "e2e": folder_programs("e2e", 900),
    "browser": folder_programs("browser", 600),
    "answers": folder_programs("answers", 900),
    "torch": folder_programs("torch", 1200),
    "torch-timed": folder_programs("torch", 1200, timed=True),
}
DEFAULT_TIERS = [name for name in TIERS if not name.startswith("torch")]
EXCLUSIVE = ("torch-timed",)
# Parts of the names of programs that take longest.
LONG = (
    "test_answers",
    "test_torture",
    "test_perfetto_ui",
    "test_python_frames",
    "test_trigger",
    "test_run.py Signals",
    "test_ranks.py",
    "test_traces",
    "test_regime",
    "test_long",
    "test_levels",
)


def show(report, verbose):
    if verbose or report.failed:
        print(f"---- {report.name}\n{report.output.rstrip()}\n----")
    for what in report.failed:
        print(f"FAILED {report.name}: {what}")
    outcome = f"{len(report.passed)} passed, {len(report.failed)} failed"
    skipped = f", {len(report.skipped)} skipped" if report.skipped else ""
    print(f"{report.name}: {outcome}{skipped} ({report.seconds:.1f} s)", flush=True)


def run_all(programs, at_a_time, verbose):
    """Runs the programs, LONG ones first; returns their reports in the order of their ends."""
    programs = sorted(programs, key=lambda program: not any(name in program.name for name in LONG))
    reports = []
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        for future in concurrent.futures.as_completed(
            [pool.submit(run_program, program) for program in programs]
        ):
            reports.append(future.result())
            show(reports[-1], verbose)
    return reports


def run_again(reports, programs, most, verbose):
    """Runs programs that failed once more, alone, if they are at most `most`; returns all reports,
    with the new ones instead of the old ones."""
    by_name = {program.name: program for program in programs}
    if sum(bool(report.failed) for report in reports) > most:
        return reports
    return [one_again(report, by_name[report.name], verbose) if report.failed else report
            for report in reports]


def one_again(report, program, verbose):
    print(f"again, alone: {program.name}", flush=True)
    ids = sorted({what.split(" ")[0] for what in report.failed})
    has_ids = program.own_results and all(re.fullmatch(r"\w+\.\w+\.\w+", text) for text in ids)
    parts = [program._replace(command=[*program.command[:-1], text]) for text in ids] \
        if has_ids else [program]
    again = Report(report.name)
    if has_ids:  # those that passed do not run again
        again.passed, again.skipped = report.passed, report.skipped
    for part in map(run_program, parts):
        show(part, verbose)
        again.passed = again.passed + part.passed
        again.failed = again.failed + part.failed
        again.skipped = again.skipped + part.skipped
        again.took += part.took
    if not again.failed:
        again.unstable = report.failed
    return again


def conclude(reports, n_slowest):
    """Prints the slowest tests, reasons of skips and the last line; returns the exit status."""
    for seconds, name in sorted((row for report in reports for row in report.took), reverse=True)[
        :n_slowest
    ]:
        print(f"took {seconds:.1f} s: {name}")
    skipped = [(report.name, why) for report in reports for why in report.skipped]
    for name, why in skipped:
        print(f"skipped {name}: {why}")
    if skipped:
        print(f"{len(skipped)} skipped")
    for report in reports:
        for what in report.unstable:
            print(f"UNSTABLE {report.name}: {what} (failed among other programs, passed alone)")
    failed = sum(len(report.failed) for report in reports)
    print(f"{sum(len(report.passed) for report in reports)} passed, {failed} failed")
    return 1 if failed else 0


def main():
    if sys.argv[1:2] == ["--list"]:
        return list_child(*sys.argv[2:])
    if sys.argv[1:2] == ["--unittest"]:
        return unittest_child(*sys.argv[2:4], int(sys.argv[4]), *sys.argv[5:6], int(sys.argv[6]))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default=",".join(DEFAULT_TIERS), help="of " + ", ".join(TIERS))
    parser.add_argument("-k", metavar="TEXT", help="only tests or programs with this in their name")
    parser.add_argument(
        "-j",
        metavar="N",
        type=int,
        default=2 * len(os.sched_getaffinity(0)),
        help="programs at a time",
    )
    parser.add_argument("-v", action="store_true", help="show all output")
    parser.add_argument(
        "--slowest", metavar="N", type=int, default=0, help="list the N slowest tests at the end"
    )
    parser.add_argument(
        "--again", metavar="N", type=int, default=0,
        help="run up to N programs that failed once more, alone"
    )
    args = parser.parse_args()
    tiers = args.tier.split(",")
    unknown = [tier for tier in tiers if tier not in TIERS]
    if unknown:
        parser.error(f"no tier '{unknown[0]}': there are {', '.join(TIERS)}")
    parallel = [
        program for tier in tiers if tier not in EXCLUSIVE for program in TIERS[tier](args.k)
    ]
    alone = [program for tier in tiers if tier in EXCLUSIVE for program in TIERS[tier](args.k)]
    reports = run_all(parallel, args.j, args.v) + run_all(alone, 1, args.v)
    return conclude(run_again(reports, parallel + alone, args.again, args.v), args.slowest)


if __name__ == "__main__":
    sys.exit(main())
