#!/usr/bin/env python3
"""How long the steps around the begin and the end of a recorded window take. Started by
window_bench.sh under profrun.sh.

usage: window_bench.py STEPS SKIP_FIRST WAIT WARMUP ACTIVE LAUNCHES BUDGET

A step is a number of launches and a synchronization. Prints the longest of the AROUND steps from
the step with which a window begins, and from the step after its last one; and for comparison the
longest of as many unrecorded steps that are far from a window. Each is the median of all windows,
because other load on the machine makes single steps long. Exit status 1 if the steps at the end
take more than BUDGET times as long as others.
"""
import ctypes
import statistics
import sys
import time

AROUND = 5


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def make_step(launches):
    """Returns a function that makes one step."""
    cuda = ctypes.CDLL("libcudart.so.13")
    library, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    source = (b".version 8.0\n.target sm_80\n.address_size 64\n"
              b".visible .entry work_20us() { ret; }\n")
    none = [None, None, 0, None, None, 0]
    assert cuda.cudaLibraryLoadData(ctypes.byref(library), source, *none) == 0
    assert cuda.cudaLibraryGetKernel(ctypes.byref(kernel), library, b"work_20us") == 0
    launch = cuda.cudaLaunchKernel
    launch.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t,
                       ctypes.c_void_p]
    one = Dim3(1, 1, 1)

    def step():
        for _ in range(launches):
            launch(kernel, one, one, None, 0, None)
        cuda.cudaStreamSynchronize(None)

    return step


def longest(ms, begins):
    return statistics.median(max(ms[i:i + AROUND]) for i in begins)


def main():
    steps, skip, wait, warmup, active, launches = map(int, sys.argv[1:7])
    budget = float(sys.argv[7])
    step, ms = make_step(launches), []
    for _ in range(steps):
        began = time.perf_counter_ns()
        step()
        ms.append((time.perf_counter_ns() - began) / 1e6)
    cycle = wait + warmup + active
    begins = range(skip + wait, steps - cycle, cycle)
    usual = longest(ms, (i - wait // 2 for i in begins))
    begin = longest(ms, begins)
    end = longest(ms, (i + warmup + active for i in begins))
    worst = max(max(ms[i + warmup + active:i + warmup + active + AROUND]) for i in begins)
    worst_usual = max(max(ms[i - wait // 2:i - wait // 2 + AROUND]) for i in begins)
    print(f"\nwindows of {warmup + active} steps: the longest of {AROUND} steps in {len(begins)} "
          f"windows (median)\nunrecorded {usual:.3f} ms; at a window's begin {begin:.3f} ms "
          f"({begin / usual:.2f} times as long); after its end {end:.3f} ms\n({end / usual:.2f} "
          f"times as long, budget {budget:.2f}); the longest of all after an end {worst:.3f} ms, "
          f"unrecorded {worst_usual:.3f} ms")
    return end > budget * usual


if __name__ == "__main__":
    sys.exit(main())
