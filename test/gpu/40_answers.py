#!/usr/bin/env python3
"""The answer-key suite on the GPU, where kernels spin for the time in their names. Checks the
cause, the line and the savings.

usage: 40_answers.py [--tier plain|torch] [--only NAME[,NAME]]

Prints a table row per program. Without PROFRUN_GPU=1 runs on the simulated GPU.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ON_GPU = os.environ.get("PROFRUN_GPU") == "1"


def figure(value):
    return "" if value is None else f"{value:.3f}"


def row(outcome):
    if outcome["problem"]:
        return f"| {outcome['name']} | {outcome['key']} | | | | | | {outcome['problem']} |"
    line = ("" if not outcome["has_line"] else outcome["where"] if outcome["line_right"]
            else f"wrong: {outcome['where']}")
    cells = [outcome["name"], outcome["key"], outcome["said"], line, figure(outcome["slow_ms"]),
             figure(outcome["gain_ms"]), figure(outcome["predicted_ms"]),
             "; ".join(outcome["alarms"])]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=["plain", "torch"], default="plain")
    parser.add_argument("--only", help="some programs of test/answers/cases.py")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = os.path.join(folder, "results.json")
        line = [sys.executable, os.path.join(ROOT, "test", "answers", "run.py"), "--all", "--tier",
                args.tier, "--json", results, *(["--only", args.only] if args.only else []),
                *(["--gpu"] if ON_GPU else [])]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not os.path.exists(results):
            print(f"not ok answers: no results: {done.stdout[-300:]!r}")
            return 1
        with open(results) as file:
            found = json.load(file)
    if not found["programs"]:
        print(f"skip answers: {done.stdout.splitlines()[0]}")
        return 0
    print("| program | key | said | line named | ms a step | savings | promised | false alarms |")
    print("| --- | --- | --- | --- | ---: | ---: | ---: | --- |")
    for outcome in found["programs"]:
        print(row(outcome))
    for name, value in found["summary"].items():
        print(f"| {name} | {value if isinstance(value, int) else figure(value)} | | | | | | |")
    missed = [text[len("MISSED: "):] for text in done.stdout.splitlines()
              if text.startswith("MISSED: ")]
    print(f"not ok answers: {'; '.join(missed)}" if missed else "ok answers")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
