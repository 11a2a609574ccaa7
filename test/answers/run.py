#!/usr/bin/env python3
"""The answer-key suite: programs with a planted cause, and whether profrun's report says so.

usage: run.py [--tier plain|torch|plain,torch] [--only NAME[,NAME]] [--unseen] [--json FILE]
              [--keep DIR]

Each program runs twice: first alone, its slow and its fixed form alternating, which measures what
the fix saves; then the slow one under profrun, whose report is compared with the key in cases.py.
Prints a table; exit status 1 when a goal is missed.
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
PRELOADED = ("libcudart.so.13", "libcudart.so.12", "libcupti.so.13", "libcupti.so.12",
             "libprofsim_libs.so")
# Enough skipped steps that programs that never wait are limited by their full stream, as in longer
# runs. The recorded steps are a multiple of 2 and 3, by which some programs count.
SKIPPED, RECORDED = 1000, 24
# Enough time for the collector, at its lowest priority, to detect the steps on a busy machine.
LEARNED_MS = 3000
ALONE = {"ROUNDS": "7", "STEPS": "30"}
# A run under profrun whose steps were this much slower than alone is repeated: it was disturbed (or
# profrun is the cause).
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
           if not k.startswith(("PROF_", "PROFSIM_")) and k not in ("LD_PRELOAD", "FIXED")}
    env.update(case.gpu_environment if gpu else case.environment, PYTHONPATH=HERE,
               PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", **more)
    if not gpu:
        env["LD_LIBRARY_PATH"] = SIM
    if case.kernel_us:
        env["PROFSIM_KERNEL_US"] = str(case.kernel_us)
    if gpu and case.is_torch:
        env["WIDTH"] = str(case.width)
    return env


def hurry_collector(launcher):
    """Raises the collector's priority (--realtime): on a busy machine its low priority would keep
    it from detecting the steps before the run ends."""
    until = time.monotonic() + 5
    while launcher.poll() is None and time.monotonic() < until:
        with contextlib.suppress(OSError):
            with open(f"/proc/{launcher.pid}/task/{launcher.pid}/children") as file:
                children = file.read().split()
            for child in children:
                with open(f"/proc/{child}/cmdline", "rb") as file:
                    if b"collect" in file.read().split(b"\0"):
                        for thread in os.listdir(f"/proc/{child}/task"):
                            os.sched_setscheduler(int(thread), os.SCHED_RR, os.sched_param(1))
                        return
        time.sleep(0.01)


def take_priority():
    """Lets this process run before all other load on the machine, if that is allowed."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def execute(line, env, has_priority=False):
    with subprocess.Popen(line, env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=take_priority if has_priority else None) as child:
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
    """Returns the result that a program printed in its last line."""
    try:
        return json.loads(out.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise Broken("printed no result") from None


def alone(case, gpu):
    """Returns the milliseconds per step, slow and fixed, without profrun: what is true on a machine
    that nothing else loads."""
    env = environment(case, gpu, **ALONE)
    if not gpu:
        env["LD_PRELOAD"] = " ".join(os.path.join(SIM, name) for name in PRELOADED)
    said = result_of(execute(command(case), env, has_priority=True))
    return said["slow_ms"], said["fixed_ms"]


def profiled(case, folder, gpu, slow_ms=LEARNED_MS / SKIPPED):
    """Returns the number of steps of the slow program under profrun, and the report."""
    shutil.rmtree(folder, ignore_errors=True)
    skipped = max(SKIPPED, math.ceil(LEARNED_MS / slow_ms))
    line = [os.path.join(ROOT, "profrun.sh"), *([] if gpu else ["--sim"]), "-o", folder, "--quiet",
            "--schedule", f"skip_first={skipped},wait=0,warmup=2,active={RECORDED},repeat=1"]
    out = execute([*line, "--", *command(case)],
                  environment(case, gpu, STEPS=str(skipped + 2 * RECORDED)))
    path = os.path.join(folder, "report.json")
    if not os.path.exists(path):
        execute([os.path.join(ROOT, "profrun.sh"), "report", folder], environment(case, gpu))
    try:
        with open(path) as file:
            return result_of(out)["steps"], json.load(file)
    except (OSError, ValueError) as error:
        raise Broken(f"no report: {error}") from None


def without_line(case, folder):
    """Returns what whatif promises for removing the first planted line, in ms per step."""
    place = f"{os.path.basename(case.source)}:{case.planted()[0]}"
    out = execute([os.path.join(ROOT, "profrun.sh"), "whatif", folder, "--without", place,
                   "--json"], environment(case, True))
    return json.loads(out)["whole_line"]["gain_ms"]


def answer(case, folder, gpu):
    try:
        slow_ms, fixed_ms = alone(case, gpu)
        for attempt in range(TRIES):
            steps, report = profiled(case, folder, gpu, slow_ms)
            replay = judge.main_process(report).get("replay") or {}
            recorded_ms = (replay.get("measured_ms") or 0) - (replay.get("contention_ms") or 0)
            if recorded_ms <= DISTURBED * slow_ms:
                break
        promised_ms = without_line(case, folder) if case.gain == "whatif" else None
        outcome = judge.judge(case, report, steps, slow_ms, fixed_ms, promised_ms)
        outcome.repeated = attempt
        return outcome
    except Broken as problem:
        return judge.Outcome(case.name, case.verdicts[0], "nothing", bool(case.row), False,
                             problem=str(problem))


def shown(outcome):
    """Returns a row of the table."""
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
    return (
        f"{outcome.name:20} {outcome.key:8} {outcome.said:8} {outcome.where:26} "
        f"{outcome.slow_ms:8.3f} "
        f"{outcome.gain_ms:8.3f} {promised:>9} {replay:>7}  {'; '.join(wrong) or 'right'}{again}")


HEADER = (f"{'program':20} {'key':8} {'said':8} {'line named':26} {'step ms':>8} {'gain ms':>8} "
          f"{'promised':>9} "
          f"{'replay%':>7}")


def choose(args):
    chosen = [case for case in cases.CASES
              if bool(case.folder == "unseen") == args.unseen or args.all]
    if args.only:
        names = args.only.split(",")
        chosen = [case for case in cases.CASES if case.name in names]
        unknown = set(names) - {case.name for case in chosen}
        if unknown:
            sys.exit(f"answers: no program {', '.join(sorted(unknown))} in cases.py")
    tiers = args.tier.split(",")
    if "torch" in tiers and not args.gpu and not os.path.exists(os.path.join(TORCH, ".complete")):
        print("SKIPPED: the programs in PyTorch: there is no build/torch-venv (make torch-venv)",
              flush=True)
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
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default="plain,torch")
    parser.add_argument("--only")
    parser.add_argument("--unseen", action="store_true",
                        help="the second set, which was not used to make the rules")
    parser.add_argument("--all", action="store_true", help="both sets")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs' folders there")
    parser.add_argument("--realtime", action="store_true",
                        help="with realtime priority, for a busy machine")
    parser.add_argument("--gpu", action="store_true",
                        help="on a real GPU instead of the simulated one")
    args = parser.parse_args()
    began = time.monotonic()
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2))
    # A busy disk would delay the collector.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="answers-", dir=memory) as scratch:
        outcomes = run(choose(args), args.keep or scratch, args.gpu)
    result = judge.summary(outcomes)
    print(f"\n{len(outcomes)} programs in {time.monotonic() - began:.0f} s, "
          f"{sum(o.right for o in outcomes)} right in everything")
    for name, value in result.items():
        print(f"  {name:22} {value:.2f}" if isinstance(value, float) else f"  {name:22} {value}")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"summary": result, "programs": [dataclasses.asdict(o) for o in outcomes]},
                      file, indent=1)
    wrong = judge.missed(result)
    for text in wrong:
        print(f"MISSED: {text}")
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
