#!/usr/bin/env python3
"""The answer-key suite: programs with a planted cause, and whether profrun's report says so.

usage: run.py [--tier plain|torch|plain,torch] [--only NAME[,NAME]] [--unseen] [--json FILE] [--keep DIR]

Each program runs twice: alone, its slow and its mended form in turn, which measures what mending wins; then the slow one under
profrun. Its report is held against the key in cases.py. Prints a table; exit status 1 when a goal is missed.
"""
import argparse
import contextlib
import dataclasses
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

import cases
import judge

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build")
SIM = os.path.join(BUILD, "sim")
TORCH = os.path.join(BUILD, "torch-venv")
PRELOADED = ("libcudart.so.13", "libcudart.so.12", "libcupti.so.13", "libcupti.so.12", "libprofsim_libs.so")
# As many steps that programs which never wait are held back by the full queue of their stream, as in any longer run, and the armed
# steps a multiple of the twos and threes that some programs count by.
SKIPPED, RECORDED = 1000, 24
# And as many that the collector, which gives way to everything else, has found the steps by then on a busy machine, too.
LEARNED_MS = 3000
ALONE = {"ROUNDS": "7", "STEPS": "30"}
# A run under profrun whose steps were this much slower than alone was disturbed (or profrun is to blame): it is made again.
DISTURBED = 1.1
TRIES = 2
LIMIT_S = 120


class Broken(Exception):
    """A run that gave nothing to judge."""


def command(case):
    if case.source.endswith(".cpp"):
        return [os.path.join(BUILD, "test", "answers", case.name)]
    torch = os.path.join(TORCH, "bin", "python")
    return [torch if case.is_torch and os.path.exists(torch) else sys.executable, case.source]


def environment(case, gpu, **more):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("PROF_", "PROFSIM_")) and k not in ("LD_PRELOAD", "MENDED")}
    env.update(case.gpu_environment if gpu else case.environment, PYTHONPATH=HERE, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", **more)
    if not gpu:
        env["LD_LIBRARY_PATH"] = SIM
    if case.kernel_us:
        env["PROFSIM_KERNEL_US"] = str(case.kernel_us)
    if gpu and case.is_torch:
        env["WIDTH"] = str(case.width)
    return env


def hurry_collector(launcher):
    """With --realtime: it gives way to everything by itself, and on a busy machine would not know the steps before the run is over."""
    until = time.monotonic() + 5
    while launcher.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError):
            with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children") as file:
                children = file.read().split()
            for child in children:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    if b"collect" in file.read().split(b"\0"):
                        os.sched_setscheduler(int(child), os.SCHED_RR, os.sched_param(1))
                        return
        time.sleep(0.01)


def execute(line, env):
    with subprocess.Popen(line, env=env, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        if os.sched_getscheduler(0) == os.SCHED_RR and "profrun.sh" in line[0]:
            hurry_collector(child)
        try:
            out, err = child.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Broken(f"did not end in {LIMIT_S} s") from None
    if child.returncode:
        raise Broken(f"exit status {child.returncode}: {(err.strip().splitlines() or [''])[-1]}")
    return out


def result_of(out):
    """What a program says of itself, in its last line."""
    try:
        return json.loads(out.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise Broken("printed no result") from None


def alone(case, gpu):
    """Milliseconds per step, slow and mended, without profrun."""
    env = environment(case, gpu, **ALONE)
    if not gpu:
        env["LD_PRELOAD"] = " ".join(os.path.join(SIM, name) for name in PRELOADED)
    said = result_of(execute(command(case), env))
    return said["slow_ms"], said["mended_ms"]


def profiled(case, folder, gpu, slow_ms=LEARNED_MS / SKIPPED):
    """How many steps the slow program made under profrun, and the report."""
    shutil.rmtree(folder, ignore_errors=True)
    skipped = max(SKIPPED, math.ceil(LEARNED_MS / slow_ms))
    line = [os.path.join(ROOT, "profrun.sh"), *([] if gpu else ["--sim"]), "-o", folder, "--quiet",
            "--schedule", f"skip_first={skipped},wait=0,warmup=2,active={RECORDED},repeat=1"]
    out = execute([*line, "--", *command(case)], environment(case, gpu, STEPS=str(skipped + 2 * RECORDED)))
    path = os.path.join(folder, "report.json")
    if not os.path.exists(path):
        execute([os.path.join(ROOT, "profrun.sh"), "report", folder], environment(case, gpu))
    try:
        with open(path) as file:
            return result_of(out)["steps"], json.load(file)
    except (OSError, ValueError) as error:
        raise Broken(f"no report: {error}") from None


def answer(case, folder, gpu):
    try:
        slow_ms, mended_ms = alone(case, gpu)
        for attempt in range(TRIES):
            steps, report = profiled(case, folder, gpu, slow_ms)
            replay = judge.main_process(report).get("replay") or {}
            if (replay.get("measured_ms") or 0) <= DISTURBED * slow_ms:
                break
        outcome = judge.judge(case, report, steps, slow_ms, mended_ms)
        outcome.repeated = attempt
        return outcome
    except Broken as problem:
        return judge.Outcome(case.name, case.verdicts[0], "nothing", bool(case.row), False, problem=str(problem))


def shown(outcome):
    """A row of the table."""
    if outcome.problem:
        return f"{outcome.name:20} {outcome.key:8} {outcome.problem}"
    promised = "" if outcome.predicted_ms is None else f"{outcome.predicted_ms:9.3f}"
    replay = "" if outcome.replay_pct is None else f"{outcome.replay_pct:+7.1f}"
    wrong = [] if outcome.verdict_right else ["verdict"]
    wrong += [] if outcome.line_right or not outcome.has_line else ["line"]
    wrong += [] if outcome.near or outcome.predicted_ms is None else ["gain"]
    wrong += [] if outcome.steps_right else ["steps"]
    wrong += [f"alarm ({text})" for text in outcome.alarms]
    again = f" (run {outcome.repeated + 1} times)" if outcome.repeated else ""
    return (f"{outcome.name:20} {outcome.key:8} {outcome.said:8} {outcome.where:26} {outcome.slow_ms:8.3f} "
            f"{outcome.gain_ms:8.3f} {promised:>9} {replay:>7}  {'; '.join(wrong) or 'right'}{again}")


HEADER = (f"{'program':20} {'key':8} {'said':8} {'line named':26} {'step ms':>8} {'gain ms':>8} {'promised':>9} "
          f"{'replay%':>7}")


def choose(args):
    chosen = [case for case in cases.CASES if bool(case.folder == "unseen") == args.unseen or args.all]
    if args.only:
        names = args.only.split(",")
        chosen = [case for case in cases.CASES if case.name in names]
        unknown = set(names) - {case.name for case in chosen}
        if unknown:
            sys.exit(f"answers: no program {', '.join(sorted(unknown))} in cases.py")
    tiers = args.tier.split(",")
    if "torch" in tiers and not args.gpu and not os.path.exists(os.path.join(TORCH, ".complete")):
        print("SKIPPED: the programs in PyTorch: there is no build/torch-venv (make torch-venv)", flush=True)
        tiers.remove("torch")
    return [case for case in chosen if ("torch" if case.is_torch else "plain") in tiers]


def run(chosen, base, gpu):
    outcomes = []
    print(HEADER)
    for case in chosen:
        outcomes.append(answer(case, os.path.join(base, case.name), gpu))
        print(shown(outcomes[-1]), flush=True)
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default="plain,torch")
    parser.add_argument("--only")
    parser.add_argument("--unseen", action="store_true", help="the second set, which the rules were not made with")
    parser.add_argument("--all", action="store_true", help="both sets")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs' folders there")
    parser.add_argument("--realtime", action="store_true", help="ahead of all else that the machine does; for one that is busy")
    parser.add_argument("--gpu", action="store_true", help="on a real GPU instead of the simulated one")
    args = parser.parse_args()
    began = time.monotonic()
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a busy disk would hold up the collector
    with tempfile.TemporaryDirectory(prefix="answers-", dir=memory) as scratch:
        outcomes = run(choose(args), args.keep or scratch, args.gpu)
    result = judge.summary(outcomes)
    print(f"\n{len(outcomes)} programs in {time.monotonic() - began:.0f} s, {sum(o.right for o in outcomes)} right in everything")
    for name, value in result.items():
        print(f"  {name:22} {value:.2f}" if isinstance(value, float) else f"  {name:22} {value}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"summary": result, "programs": [dataclasses.asdict(o) for o in outcomes]}, file, indent=1)
    wrong = judge.missed(result)
    for text in wrong:
        print(f"MISSED: {text}")
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
