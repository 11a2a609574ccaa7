#!/usr/bin/env python3
"""Compares profrun with HTA on the same trace of torch.profiler, and measures its own budgets.

usage: test/bench/peers_bench.py BUILD [FOLDER]          ROUNDS=N in the environment: default 3

The trace is the largest .json.gz below FOLDER, else a generated one. Both programs load it and make
all their analyses, in turn, each in a process of its own; the medians of time, CPU time and largest
memory are compared. Then profrun reports of 10 million generated events, and the writers of traces
encode a step of a million launches (build/test/bench/export_bench).

HTA comes from build/readers-venv (`scripts/setup readers`). Exit status 1 if a figure misses its
budget.
"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROUNDS = int(os.environ.get("ROUNDS", "3"))  # HTA's analyses may take minutes each
FASTER, SMALLER = 30, 5
EVENTS, EVENTS_S, EVENTS_MIB = 10_000_000, 20, 1024
PERFETTO_M, JSON_M, RAW_BYTES, GZIP_BYTES = 3, 1, 130, 30
SMALL_EVENTS = 200_000

failed = []


def row(what, value, unit, budget=None, is_least=False):
    """Prints a figure and whether it keeps its budget."""
    text = f"{what:<52} {value:>10.4g} {unit}"
    if budget is not None:
        is_kept = value >= budget if is_least else value <= budget
        text += f"   {'at least' if is_least else 'at most'} {budget}: " + ("kept" if is_kept
                                                                           else "MISSED")
        if not is_kept:
            failed.append(what)
    print(text, flush=True)


def measure(command):
    """Returns seconds, seconds of CPU time and MiB of a process."""
    with tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
        errors.seek(0)
        assert status == 0, f"{command}: {status}: {errors.read().decode()}"
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


# ---- Generated traces ----

HEAD = """{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3",
 "totalGlobalMem": 85899345920, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
"baseTimeNanoseconds": 1775078550000000000, "traceEvents": [
"""
STEP = '{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{n}","pid":42,"tid":42,' \
    '"ts":{ts:.3f},"dur":{dur:.3f},"args":{{"External id":{id}}}}},\n'
LAUNCH = """\
{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":42,"tid":42,"ts":%.3f,"dur":8.500,\
"args":{"External id":%d,"Record function id":0,"Ev Idx":%d}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":42,"ts":%.3f,"dur":4.250,\
"args":{"External id":%d,"cbid":211,"correlation":%d}},
{"ph":"s","id":%d,"pid":42,"tid":42,"ts":%.3f,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"void at::native::kernel_of_a_usual_length_%d<4, float>(int)",\
"pid":0,"tid":7,"ts":%.3f,"dur":6.125,"args":{"External id":%d,"queued":0,"device":0,"context":1,\
"stream":7,"correlation":%d,"registers per thread":32,"shared memory":0,"blocks per SM":1.5,\
"warps per SM":12.0,"grid":[200,1,1],"block":[256,1,1],"est. achieved occupancy %%":19}},
{"ph":"f","id":%d,"pid":0,"tid":7,"ts":%.3f,"cat":"ac2g","name":"ac2g","bp":"e"},
"""
EVENTS_PER_LAUNCH, LAUNCHES_PER_STEP, LAUNCH_US, NAMES = 5, 1000, 10.0, 150


def generate(path, n_events):
    """Steps of a thousand operators, each with a launch and a kernel."""
    n = n_events // EVENTS_PER_LAUNCH
    with open(path, "w", encoding="ascii") as file:
        file.write(HEAD)
        for first in range(0, n, LAUNCHES_PER_STEP):
            step = first // LAUNCHES_PER_STEP
            file.write(STEP.format(n=step, ts=100 + first * LAUNCH_US, id=n + step + 1,
                                   dur=LAUNCHES_PER_STEP * LAUNCH_US - 1))
            text = []
            for i in range(first + 1, min(first + LAUNCHES_PER_STEP, n) + 1):
                ts, name = 91 + i * LAUNCH_US, i % NAMES
                text.append(LAUNCH % (name, ts, i, i, ts + 2, i, i, i, ts + 2, name, ts + 20, i, i,
                                      i, ts + 20))
            file.write("".join(text))
        file.write('{"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":%.3f}'
                   '],\n"traceName": "t"}\n' % (200 + n * LAUNCH_US))


# ---- Against HTA ----

def largest(folder):
    found = glob.glob(os.path.join(folder, "**", "*.json.gz"), recursive=True)
    assert found, f"{folder}: no .json.gz"
    return max(found, key=os.path.getsize)


def compare(profrun, python, trace, base):
    folder = os.path.join(base, "one")
    os.makedirs(folder)
    copy = os.path.join(folder, os.path.basename(trace))
    shutil.copyfile(trace, copy)
    ours = [profrun, "report", "--json", copy]
    theirs = [python, os.path.join(ROOT, "test", "e2e", "kineto_readers.py"), folder, "--hta"]
    measure(ours)  # so that the file is in memory
    rounds = []
    for _ in range(ROUNDS):
        for extra in set(glob.glob(os.path.join(folder, "*"))) - {copy}:
            os.remove(extra)  # HTA's trace with counters: it would read it as a rank
        rounds.append((measure(theirs), measure(ours)))
    print(f"{os.path.basename(trace)}, {os.path.getsize(trace)} bytes: medians of {ROUNDS} rounds",
          flush=True)
    for i, (what, unit) in enumerate((("time", "s"), ("CPU time", "s"), ("memory", "MiB"))):
        hta, us = (statistics.median(r[who][i] for r in rounds) for who in (0, 1))
        row(f"{what}: HTA", hta, unit)
        row(f"{what}: profrun", us, unit)
        # CPU time: other programs of the machine delay the longer one more
        budget = {"CPU time": FASTER, "memory": SMALLER}.get(what)
        row(f"{what}: HTA / profrun", hta / us, "x", budget, is_least=True)


# ---- profrun's own budgets ----

def many_events(profrun, base):
    path = os.path.join(base, "many.json")
    generate(path, EVENTS)
    seconds, cpu_s, mib = measure([profrun, "report", "--json", path])
    print(f"report of {EVENTS // 1_000_000} million generated events, "
          f"{os.path.getsize(path) / 1e9:.2f} GB", flush=True)
    os.remove(path)
    row("time", seconds, "s")
    row("CPU time", cpu_s, "s", EVENTS_S)
    row("memory", mib, "MiB", EVENTS_MIB)


def writers(build):
    out = subprocess.run([os.path.join(build, "test", "bench", "export_bench")], check=True,
                         text=True, stdout=subprocess.PIPE).stdout
    alone = out[:out.index("calls with stacks")]
    print("writers: a step of a million launches without stacks", flush=True)
    for name, least in (("perfetto", PERFETTO_M), ("chrome", JSON_M)):
        rate, bytes_ = re.search(rf"{name}: encoding alone +([\d.]+) M events/s .* (\d+) bytes an",
                                 alone).groups()
        gzip_mb = re.search(rf"{name}: encoding, gzip, written .* ([\d.]+) MB\)", alone)[1]
        row(f"{name}: before compression", float(rate), "M events/s", least, is_least=True)
        is_perfetto = name == "perfetto"
        row(f"{name}: raw", 2 * float(bytes_), "bytes/launch", RAW_BYTES if is_perfetto else None)
        row(f"{name}: compressed", float(gzip_mb), "bytes/launch",
            GZIP_BYTES if is_perfetto else None)


def main():
    build = os.path.abspath(sys.argv[1])
    profrun = os.path.join(build, "profrun")
    python = os.path.join(build, "readers-venv", "bin", "python")
    assert os.path.exists(python), "no build/readers-venv: `scripts/setup readers` makes it"
    base = tempfile.mkdtemp(prefix="profrun-peers-")
    try:
        if len(sys.argv) > 2:
            trace = largest(sys.argv[2])
        else:
            plain = os.path.join(base, "generated.json")
            generate(plain, SMALL_EVENTS)
            subprocess.run(["gzip", plain], check=True)
            trace = plain + ".gz"
        writers(build)
        many_events(profrun, base)
        compare(profrun, python, trace, base)
    finally:
        shutil.rmtree(base)
    return f"missed: {', '.join(failed)}" if failed else 0


if __name__ == "__main__":
    sys.exit(main())
