#!/usr/bin/env python3
"""Measures how often profrun chooses the loop that a program's author would call the steps, on the
programs of test/steps/fresh, on the simulated GPU, or with PROFRUN_GPU=1 on a real one.

usage: fresh.py [NAME...] [-o DIR] [-j N] [--set NAME=VALUE]... [--built DIR] [--kept] [--check]
       fresh.py [NAME...] --build DIR

The first line of each program has its right answer:

    # step: loop at line L; iterations N; or: loop at line L2; iterations N2

A loop in another file is `loop at FILE:L`, with FILE relative to the program's folder. `or:` has a
second loop that a user would accept, too. profrun's answer is one of these:

    right            its loop has an accepted line, or its count is off by at most 1
    right by second  its confidence is below 0.7, and the second loop that it names is accepted
    no steps         it found no steps
    unclear          its confidence is below 0.7, and neither loop is accepted
    wrong            its confidence is from 0.7 to 0.9
    SURE AND WRONG   its confidence is 0.9 or more

Prints a table with a row for each program, and totals. A loop is LINE (ITERATIONS), with its file
if that is not the program. The exit status is 1 if a program failed. `--kept` runs nothing: it
judges the runs that an earlier `-o DIR` kept. `--build` only builds the programs, for `--built`.
`--check` checks the headers only: each line must begin a loop.
"""
import argparse
import ast
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
from harness import BUILD, LAUNCHER, environment  # noqa: E402

PROGRAMS = os.path.join(HERE, "fresh")
ON_GPU = os.environ.get("PROFRUN_GPU") == "1"
PYTHON = sys.executable if ON_GPU else os.path.join(BUILD, "torch-venv", "bin", "python")
NVCC = ["nvcc", "-cudart", "shared", "-O2", "-g", "-std=c++17", "-Xcompiler", "-fopenmp"]
LEADERS = {".py": "#", ".cu": "//"}
SURE, CLEAR = 0.9, 0.7
LIMIT_S = 300
KINDS = ["right", "right by second", "no steps", "unclear", "wrong", "SURE AND WRONG", "failed"]
LOOP = re.compile(r"loop at (?:line |(?P<file>[^\s;]+):)(?P<line>\d+); iterations (?P<count>\d+)")

Answer = collections.namedtuple("Answer", "file line count")


def answers(path):
    """Returns the accepted loops of a program, from its first line."""
    with open(path, encoding="utf-8") as file:
        first = file.readline().strip()
    start = LEADERS[os.path.splitext(path)[1]] + " step: "
    if not first.startswith(start):
        raise SystemExit(f"{path}: the first line must begin with '{start}'")
    found = []
    for part in first[len(start):].split("; or: "):
        match = LOOP.fullmatch(part)
        if not match:
            raise SystemExit(f"{path}: '{part}' is not 'loop at line L; iterations N'")
        file = os.path.join(os.path.dirname(path), match["file"]) if match["file"] else path
        found.append(Answer(file, int(match["line"]), int(match["count"])))
    return found


def begins_loop(answer):
    """Whether a loop begins in the line that a header names."""
    with open(answer.file, encoding="utf-8") as file:
        text = file.read()
    if answer.file.endswith(".py"):
        return any(isinstance(node, (ast.For, ast.While)) and node.lineno == answer.line
                   for node in ast.walk(ast.parse(text)))
    return re.search(r"\b(for|while|do)\b", text.split("\n")[answer.line - 1]) is not None


def program_of(path, folder):
    return os.path.join(folder, os.path.splitext(os.path.basename(path))[0])


def build(path, folder, built=None):
    """Returns the command that runs a program, after building it if it needs that."""
    if path.endswith(".py"):
        return [PYTHON, path]
    if built:
        return [program_of(path, built)]
    subprocess.run([*NVCC, path, "-o", program_of(path, folder)], check=True)
    return [program_of(path, folder)]


def accepts(accepted, loop, count=None):
    """Whether a loop of a report, or a count of steps, is one of the accepted ones."""
    return any((loop and loop.get("line") == a.line
                and os.path.basename(loop.get("file") or "") == os.path.basename(a.file))
               or (count is not None and abs(count - a.count) <= 1) for a in accepted)


def name_of(file, line, count, program):
    file = os.path.basename(file or "")
    return f"{'' if file == program else file + ':'}{line} ({count})"


class Result:
    """What profrun found in a program."""

    def __init__(self, path, folder, status):
        self.name, self.accepted = os.path.basename(path), answers(path)
        self.kind, self.count, self.confidence, self.loop = "failed", 0, None, None
        self.second = None
        if status == 0:
            self._read(folder)
            self.kind = self._kind()

    def _read(self, folder):
        # run.json has the confidence with three digits, report.json with two
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            processes = [p for p in json.load(file)["processes"] if p.get("devices")]
        steps = max((p.get("steps") or {} for p in processes), key=lambda s: s.get("count") or 0,
                    default={})
        self.count, self.confidence = steps.get("count") or 0, steps.get("confidence")
        self.loop = steps.get("loop")
        self.second = (self.loop or {}).get("instead")

    def _kind(self):
        if not self.count:
            return "no steps"
        if accepts(self.accepted, self.loop, self.count):
            return "right"
        sure = self.confidence or 0
        if sure < CLEAR:
            second = self.second and accepts(self.accepted, self.second,
                                             self.second.get("iterations"))
            return "right by second" if second else "unclear"
        return "wrong" if sure < SURE else "SURE AND WRONG"

    def row(self):
        wanted = " or ".join(name_of(*a, self.name) for a in self.accepted)
        loops = [name_of(x.get("file") or x.get("function"), x.get("line"), x.get("iterations"),
                         self.name) if x else "-" for x in (self.loop, self.second)]
        sure = "-" if self.confidence is None else f"{self.confidence:.2f}"
        return [self.name, wanted, str(self.count), *loops, sure, self.kind]


def folder_of(path, base):
    return os.path.join(base, os.path.basename(path))


def run(path, base, settings, built):
    folder = folder_of(path, base)
    os.makedirs(folder, exist_ok=True)
    command = build(path, folder, built)
    out = os.path.join(folder, "out")
    with open(os.path.join(folder, "output.txt"), "w", encoding="utf-8") as file:
        done = subprocess.run([LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", out, "--", *command],
                              stdout=file, stderr=file, env=environment(**settings),
                              timeout=LIMIT_S)
    return Result(path, out, done.returncode)


def read_kept(path, base):
    out = os.path.join(folder_of(path, base), "out")
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        return Result(path, out, json.load(file)["run"]["exit_status"])


def table(rows):
    yield "| program | right | steps | loop | second loop | confidence | answer |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def totals(results):
    counts = collections.Counter(result.kind for result in results)
    return f"{len(results)} programs: " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS
                                                    if counts[kind])


def chosen(names):
    paths = sorted(path for suffix in LEADERS
                   for path in glob.glob(os.path.join(PROGRAMS, "*" + suffix)))
    return [path for path in paths if not names or any(name in os.path.basename(path)
                                                       for name in names)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("-o", dest="folder", help="keep the runs' folders here")
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="a setting of the runs")
    parser.add_argument("--build", metavar="DIR")
    parser.add_argument("--built", metavar="DIR")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    paths = chosen(options.names)
    if options.check:
        bad = [a for path in paths for a in answers(path) if not begins_loop(a)]
        for answer in bad:
            print(f"{answer.file}:{answer.line}: no loop begins here", file=sys.stderr)
        return int(bool(bad))
    if options.build:
        os.makedirs(options.build, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda path: build(path, options.build), paths))
        return 0
    settings = dict(setting.split("=", 1) for setting in options.set)
    with tempfile.TemporaryDirectory(prefix="profrun-fresh-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        base = options.folder or scratch
        if options.kept:
            results = [read_kept(path, base) for path in paths
                       if os.path.exists(folder_of(path, base))]
        else:
            results = list(pool.map(lambda path: run(path, base, settings, options.built),
                                    paths))
    print("\n".join(table(result.row() for result in results)))
    for suffix in LEADERS:
        of_suffix = [result for result in results if result.name.endswith(suffix)]
        if of_suffix:
            print(f"\n{suffix}: {totals(of_suffix)}")
    return int(any(result.kind == "failed" for result in results))


if __name__ == "__main__":
    sys.exit(main())
