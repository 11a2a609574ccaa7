#!/usr/bin/env python3
"""Programs on real frameworks, alone and under profrun, several at a time. Checks that they end and
print the same, that their steps are counted, and that every piece of GPU work is paired with its
call.

usage: 60_real_programs.py [NAME...]

Prints a table row per program. Without PROFRUN_GPU=1 runs on the simulated GPU.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from _common import (ON_GPU, PROGRAMS, ROOT, TORCH, alone, conclude, each, interpreter_or_none,
                     lacks, losses, main_process, traces, under_profrun)

# three windows: CUPTI is removed between them where possible
SCHEDULE = "skip_first=15,wait=25,warmup=2,active=5,repeat=0"
STEPS_OFF = 1  # a first or last turn that differs from the others may be none
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\bnan\b|\binf\b")
MEASURED = re.compile(r"(_runtime|_per_second)'?: '?[0-9.e+-]+'?")  # speeds that a program prints

# numbers: the relative difference allowed between the numbers of two runs; None: not compared.
# Kernels that add by atomics print other digits each time, also without profrun. So does, a hundred
# times more, a network that trains on two images at a rate of 0.1.
# preparing: iterations that launch other work than the rest, and so may not count as steps.
# no_sim: why the program cannot run on the simulated GPU.
Program = collections.namedtuple(
    "Program", "name path arguments needs numbers steps preparing no_sim")
EXACT, CLOSE, ANY = 0, 0.02, None


def program(name, path, needs="torch", numbers=EXACT, steps=120, arguments=(), preparing=0,
            no_sim=None):
    return Program(name, path, (str(steps), *arguments), needs, numbers, steps, preparing, no_sim)


def users(script, needs, numbers=EXACT):
    return program(script.replace("_", " "), os.path.join(TORCH, "users", script + ".py"), needs,
                   numbers)


def own(name, script, **more):
    return program(name, os.path.join(PROGRAMS, script), **more)


ROWS = (
    own("torch.compile", "compiled.py", numbers=CLOSE),
    # a turn launches one by one, one is captured, the others are graph launches
    own("torch.compile, reduce-overhead", "compiled.py", numbers=CLOSE,
        arguments=["reduce-overhead"], preparing=2),
    own("attention, bfloat16", "compiled.py", numbers=CLOSE, arguments=["eager"]),
    own("triton", "triton_add.py", needs="triton"),
    own("cupy", "cupy_loop.py", needs="cupy", numbers=CLOSE),
    own("jax", "jax_train.py",
        needs="jax; assert jax.default_backend() == 'gpu', 'jax sees no GPU'", numbers=CLOSE),
    own("generate", "generate.py", needs="transformers",
        no_sim="its end is read from the device, where all values are zero"),
    own("torch.profiler inside", "profiler_windows.py"),
    own("streams, graph, pool", "streams.cu", needs=""),
    users("gpt2_trainer", "transformers", CLOSE),
    users("lightning_mlp", "lightning"),
    users("timm_vit", "timm"),
    users("resnet18", "torchvision", ANY),
    users("nn_transformer", "torch", CLOSE),
    users("grad_scaler", "torch"),
)


def same(one, other, numbers):
    """Whether two outputs are the same, but for figures that differ between two runs alone."""
    texts = [MEASURED.sub(r"\1: -", text) for text in (one, other)]
    if NUMBER.sub("#", texts[0]) != NUMBER.sub("#", texts[1]):
        return False
    if numbers is None:
        return True
    pairs = zip(*([float(n) for n in NUMBER.findall(text)] for text in texts))
    return all(a == b or (a != a and b != b) or abs(a - b) <= numbers * max(abs(a), abs(b))
               for a, b in pairs)


def built(source, folder):
    """(the program, None) or (None, why it cannot be built)."""
    cuda = subprocess.run([os.path.join(ROOT, "scripts", "cuda-home")], stdout=subprocess.PIPE,
                          text=True).stdout.strip()
    nvcc, path = os.path.join(cuda, "bin", "nvcc"), os.path.join(folder, "program")
    if not os.access(nvcc, os.X_OK):
        return None, "there is no nvcc"
    done = subprocess.run([nvcc, "-cudart", "shared", "-o", path, source], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return (path, None) if done.returncode == 0 else (None, done.stdout.strip()[-200:])


def command_of(row, folder):
    """(the command, None) or (None, what the machine lacks)."""
    if row.no_sim and not ON_GPU:
        return None, f"the simulated GPU cannot run it: {row.no_sim}"
    if row.path.endswith(".cu"):
        path, why = built(row.path, folder)
        return path and [path, *row.arguments], why
    why = lacks(PYTHON, f"import {row.needs}")
    return [PYTHON, row.path, *row.arguments], why


def faults(row, before, done, folder, ran):
    if done.status != before.status:
        yield f"status {done.status}, alone {before.status}: {done.last_words()}"
    elif not same(before.out, done.out, row.numbers):
        yield f"prints {done.out[-150:]!r}, alone {before.out[-150:]!r}"
    if not ran:
        yield "nothing was recorded"
        return
    if not -max(STEPS_OFF, row.preparing) <= ran["steps"]["count"] - row.steps <= STEPS_OFF:
        yield f"{ran['steps']['count']} steps counted of {row.steps}"
    if not traces(folder):
        yield "no trace"
    elif not ran["records"]["kernels"]:
        yield f"no kernels, CUPTI is {ran['cupti']}"
    lost = losses(folder)
    if lost:
        yield f"losses {lost}"


def table_row(row, before, done, ran, report, why):
    if not ran:
        return f"| {row.name} | {done.status} | | {row.steps} | | | | | | | {'; '.join(why)} |"
    records, lost = ran["records"], ran["losses"]
    verdict = report["bound"]["verdict"] if report and report.get("bound") else "none"
    printed = "same" if same(before.out, done.out, row.numbers) else "differs"
    return (f"| {row.name} | {done.status} | {printed} | {row.steps} | {ran['steps']['count']} "
            f"| {records['calls']} | {records['kernels']} "
            f"| {lost['calls_without_gpu_work']} | {lost['gpu_work_without_call']} "
            f"| {len(ran['steps']['recorded'])} | {verdict} |")


def judge(row):
    """(table row or None, (name, why, is a skip))"""
    folder = os.path.join(BASE, re.sub(r"\W+", "-", row.name))
    os.makedirs(folder)
    command, lack = command_of(row, folder)
    if lack:
        return None, (row.name, lack, True)
    before = alone(command, folder)
    if before.status != 0:  # nothing to hold a run under profrun against
        return None, (row.name, f"alone it ends with status {before.status}: {before.last_words()}",
                      not ON_GPU)
    done = under_profrun(command, folder, SCHEDULE)
    ran, report = main_process(folder)
    why = list(faults(row, before, done, folder, ran))
    line = table_row(row, before, done, ran, report, why)
    shutil.rmtree(folder, ignore_errors=True)
    return line, (row.name, "; ".join(why), False)


def main():
    global PYTHON, BASE
    PYTHON = interpreter_or_none("real programs")
    if not PYTHON:
        return 0
    wanted = [row for row in ROWS if not sys.argv[1:]
              or any(text in row.name for text in sys.argv[1:])]
    outcomes = []
    print("| program | status | output | steps | counted | calls | kernels | calls without work "
          "| work without call | recorded | verdict |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory(prefix="profrun-gpu-") as BASE:
        for line, outcome in each(judge, wanted):
            outcomes.append(outcome)
            if line:
                print(line, flush=True)
    return conclude(outcomes)


if __name__ == "__main__":
    sys.exit(main())
