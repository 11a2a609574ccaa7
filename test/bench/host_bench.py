"""A launch-bound loop on the simulated GPU, for host_bench.sh: Python code with 20 launches a step.

usage: host_bench.py STEPS

Prints the CPU time of the loop's thread per step, in us, and the CPU time of the sampling thread in
percent of a core. CPU time, unlike the time of the clock, depends little on other load.
"""
import ctypes
import os
import statistics
import sys
import time

STEPS, BLOCK, LAUNCHES = int(sys.argv[1]), 50, 20
cuda = ctypes.CDLL("libcudart.so.13")
stream, device = ctypes.c_void_p(), ctypes.c_void_p()
host = ctypes.create_string_buffer(64)
assert not cuda.cudaStreamCreate(ctypes.byref(stream))
assert not cuda.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(64))


def layer(n):
    total = sum(i * i for i in range(n))
    assert not cuda.cudaMemsetAsync(device, 0, ctypes.c_size_t(64), stream)
    return total


def step():
    assert not cuda.cudaMemcpyAsync(device, host, ctypes.c_size_t(64), 1, stream)
    for _ in range(LAUNCHES):
        layer(300)
    assert not cuda.cudaStreamSynchronize(stream)


def sampler_s():
    """Returns the CPU time of the sampling thread, 0 if there is none."""
    for tid in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{tid}/comm", encoding="utf-8") as file:
            if file.read().strip() == "profrun-host":
                with open(f"/proc/self/task/{tid}/schedstat", encoding="utf-8") as file:
                    return int(file.read().split()[0]) / 1e9
    return 0


for _ in range(200):
    step()
blocks, sampled, begin = [], sampler_s(), time.monotonic()
for _ in range(STEPS // BLOCK):
    before = time.thread_time()
    for _ in range(BLOCK):
        step()
    blocks.append((time.thread_time() - before) / BLOCK * 1e6)
print(statistics.median(blocks), 100 * (sampler_s() - sampled) / (time.monotonic() - begin))
