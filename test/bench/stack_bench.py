"""stack_bench.py LIBRARY LABEL... prints what a recorded call costs, by the depth of its stack.

Runs under the library.
"""
import ctypes
import sys

CALLS = 20000
# Native frames of ctypes and the interpreter between the innermost Python function and the library.
OURS = 4


def below(frames, work):
    """Calls work from below `frames` Python frames. Every fifth is called from C, which starts
    another evaluation loop."""
    if frames <= 1:
        return work()
    if frames % 5 == 0:
        return next(map(lambda left: below(left, work), [frames - 2]))
    return below(frames - 1, work)


def main():
    bench = ctypes.CDLL(sys.argv[1]).stack_bench
    bench.restype = ctypes.c_double
    label = " ".join(sys.argv[2:])
    for python in (1, 20):
        for native in (30, 60):
            same, changed = (below(python, lambda: bench(native - OURS, CALLS, changing))
                             for changing in (0, 1))
            print(f"{label:<22} {python:>6} {native:>6} {same:9.1f} {changed:9.1f}", flush=True)


if __name__ == "__main__":
    main()
