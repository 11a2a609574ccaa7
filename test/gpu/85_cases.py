#!/usr/bin/env python3
"""The programs of test/cases on the GPU, with default settings, several at a time. Checks that the
steps are counted and that every launch is recorded with its GPU work.

usage: 85_cases.py [NAME...] [-o DIR]

Prints a table row per program. -o keeps the runs' folders. Verdicts depend on the GPU and are only
shown. Without PROFRUN_GPU=1 runs on the simulated GPU.
"""
import argparse
import collections
import os
import sys
import tempfile

from _common import (BUILD, LAUNCHER, ON_GPU, ROOT, conclude, each, execute, interpreter_or_none,
                     losses, main_process, settings)

CASES = os.path.join(ROOT, "test", "cases")
STEPS_OFF = 1

# steps: the right number; None where a program has no steps, or where it depends on the machine.
Case = collections.namedtuple("Case", "name steps arguments", defaults=((),))
ROWS = (
    Case("rk4_stages.cu", 500),
    Case("streams_depth_first.cu", 200),
    Case("device_sync_threads.cu", 400),
    Case("two_streams_in_turn.cu", 100),
    Case("threads_first_call.cu", None),
    Case("long_kernels_few_steps.cu", 12),
    Case("legacy_memset.cu", None),
    Case("legacy_stream.cu", None),
    Case("stream_per_task.cu", None),
    Case("cpu_before_launch.cu", None, ("reference",)),
    Case("first_calls_async.cu", None),
    Case("one_kernel.cu", None),
    Case("released_at_exit.cu", None),
    Case("threadpool_server.py", 300),
    Case("short_epochs.py", 200),
    Case("gc_pause.py", 300),
    Case("host_optimizer.py", None),
    Case("anomaly_left_on.py", None),
    Case("host_work_after_item.py", None),
    Case("amp_loader_train.py", 60, ("60",)),
    Case("one_forward_pass.py", None),
    Case("eight_steps.py", 8),
    Case("own_torch_profiler.py", None),
    Case("hf_trainer_bert.py", 75, ("OUT",)),
    Case("rare_sleep.py", None),
    Case("waits_for_queue.py", None),
    Case("generator_of_batches.py", None),
    Case("work_after_step.py", None),
    Case("several_lines_of_work.py", None),
)


def command_of(case, folder):
    stem, suffix = os.path.splitext(case.name)
    program = ([os.path.join(BUILD, "test", "prog", "case_" + stem)] if suffix == ".cu"
               else [PYTHON, os.path.join(CASES, case.name)])
    return [*program, *(os.path.join(folder, "out") if a == "OUT" else a for a in case.arguments)]


def faults(case, done, folder, ran):
    if done.status != 0:
        yield f"status {done.status}: {done.last_words()}"
    if not ran:
        yield "nothing was recorded"
        return
    if case.steps is not None and abs(ran["steps"]["count"] - case.steps) > STEPS_OFF:
        yield f"{ran['steps']['count']} steps counted of {case.steps}"
    lost = losses(folder)
    if lost:
        yield f"losses {lost}"


def row(case, done, ran, report):
    if not report:
        return f"| {case.name} | {done.status} | | | | | | |"
    steps, bound = report["steps"], report.get("bound") or {}
    between = "/".join(bound.get("between") or [])
    syncs = report.get("syncs") or [{}]
    place = f"{os.path.basename(syncs[0].get('file') or '')}:{syncs[0].get('line') or ''}"
    busy = "/".join(f"{pct:.0f}" for pct in (gpu.get("busy_pct") for gpu in report["gpu"])
                    if pct is not None)
    return (f"| {case.name} | {done.status} | {case.steps or ''} | {steps['count']} "
            f"| {steps.get('confidence')} | {ran['records']['kernels']} | {busy} "
            f"| {bound.get('verdict')} {between} {bound.get('confidence')} | {place} |")


def judge(case):
    """(table row, (name, why, False))"""
    folder = os.path.join(BASE, case.name)
    out = os.path.join(folder, "run")
    line = [LAUNCHER, *([] if ON_GPU else ["--sim"]), "-o", out, "--", *command_of(case, folder)]
    done = execute(line, settings(), folder)
    with open(os.path.join(folder, "screen.txt"), "w", encoding="utf-8") as file:
        file.write(done.err)
    ran, report = main_process(folder)
    why = list(faults(case, done, folder, ran))
    return row(case, done, ran, report), (case.name, "; ".join(why), False)


def main():
    global PYTHON, BASE
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-o", dest="folder")
    args = parser.parse_args()
    PYTHON = interpreter_or_none("cases in Python")
    rows = [case for case in ROWS if (PYTHON or case.name.endswith(".cu"))
            and (not args.names or any(text in case.name for text in args.names))]
    print("| program | status | steps | counted | confidence | kernels | GPU % | verdict "
          "| first wait |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="profrun-gpu-") as scratch:
        BASE = os.path.abspath(args.folder or scratch)
        for line, outcome in each(judge, rows):
            print(line, flush=True)
            outcomes.append(outcome)
    return conclude(outcomes)


if __name__ == "__main__":
    sys.exit(main())
