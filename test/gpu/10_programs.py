#!/usr/bin/env python3
"""Small programs under profrun on the GPU: checks that every piece of GPU work is named and paired
with its call.

Prints a table row per program: what was recorded, what was lost. Without PROFRUN_GPU=1 runs on the
simulated GPU, where a program with a static CUDA runtime cannot run.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
ON_GPU = os.environ.get("PROFRUN_GPU") == "1"


def static_program():
    """Builds launch.cu with nvcc's default, the static runtime: seen through dlsym and
    cuGetProcAddress only."""
    cuda = subprocess.run([os.path.join(ROOT, "scripts", "cuda-home")], stdout=subprocess.PIPE,
                          text=True).stdout.strip()
    path = os.path.join(BUILD, "test", "gpu", "static")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    done = subprocess.run([os.path.join(cuda, "bin", "nvcc"), "-o", path, "-I", ROOT,
                           os.path.join(ROOT, "test", "prog", "launch.cu")])
    return path if done.returncode == 0 else None


def programs():
    for name in ("shared", "legacy", "per_thread", "driver_dlsym", "driver_getproc"):
        yield name, [os.path.join(BUILD, "test", "prog", name)]
    yield "ctypes", [sys.executable, os.path.join(ROOT, "test", "prog", "ctypes_runtime.py")]
    yield "demo", [sys.executable, os.path.join(ROOT, "test", "prog", "demo.py")]
    if ON_GPU:
        yield "static runtime", [static_program()]


def profile(command, pairing):
    folder = tempfile.mkdtemp(prefix="profrun-gpu-")
    line = [os.path.join(ROOT, "profrun.sh"), *([] if ON_GPU else ["--sim"]), "--quiet", "-o",
            os.path.join(folder, "run"), "--schedule", "always", "--", *command]
    try:
        done = subprocess.run(line, env={**os.environ, "PROF_PAIRING": pairing},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120)
        with open(os.path.join(folder, "run", "run.json")) as file:
            return done, json.load(file)["processes"][0]
    except FileNotFoundError:
        return done, None
    finally:
        shutil.rmtree(folder)


def main():
    failed = False
    print("| program | pairing | calls | launches | kernels | copies | calls without work "
          "| work without call |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for name, command in programs():
        for pairing in ("external", "interval"):
            case = f"{name}, {pairing}"
            if None in command or not os.path.exists(command[-1]):
                rows.append(f"skip {case}: it was not built")
                continue
            done, process = profile(command, pairing)
            if not process:
                rows.append(f"not ok {case}: status {done.returncode}, nothing recorded: "
                            f"{done.stdout[-300:]!r}")
                failed = True
                continue
            records, losses = process["records"], process["losses"]
            print(f"| {name} | {pairing} | {records['calls']} | {records['launches']} "
                  f"| {records['kernels']} | {records['memcpys']} "
                  f"| {losses['calls_without_gpu_work']} | {losses['gpu_work_without_call']} |")
            good = done.returncode == 0 and records["kernels"] + records["memcpys"] and not any(
                losses[key] for key in ("calls_without_gpu_work", "gpu_work_without_call",
                                        "dropped", "dropped_by_cupti"))
            why = (f"status {done.returncode}, cupti {process['cupti']}, losses {losses}: "
                   f"{done.stdout[-300:]!r}")
            rows.append(f"ok {case}" if good else f"not ok {case}: {why}")
            failed |= not good
    print("\n".join(rows))
    return failed


if __name__ == "__main__":
    sys.exit(main())
