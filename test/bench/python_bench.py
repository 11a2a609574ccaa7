"""What reading and resolving Python's frames costs at several depths, in this interpreter.

usage: python3.X python_bench.py LIBRARY     (python_bench.sh runs it in every interpreter)

Each depth is a chain of different functions, as in real programs. A figure is the median of 15
rounds.
"""
import ctypes
import shutil
import sys
import tempfile

library = ctypes.PyDLL(sys.argv[1])
library.frames_bench.restype = ctypes.c_double
READ, RESOLVE, ROUNDS = 0, 1, 15
folder = tempfile.mkdtemp()
if library.frames_start(folder.encode(), 512):
    sys.exit(1)
shutil.rmtree(folder)


def chain(depth, leaf):
    """Returns a function that calls leaf below `depth` frames, each with its own code object."""
    for i in range(depth):
        scope = {"inner": leaf}
        exec(f"def level_{i}(*a):\n    x = 1\n    return inner(*a)", scope)
        leaf = scope[f"level_{i}"]
    return leaf


def measure(what, calls):
    library.frames_bench(what, 1)
    return sorted(library.frames_bench(what, calls) for _ in range(ROUNDS))[ROUNDS // 2]


depths = (2, 11, 21, 41, 101)
reads = [chain(depth - 3, lambda: measure(READ, 20000))() if depth > 2 else measure(READ, 20000)
         for depth in depths]
resolves = [chain(depth - 3, lambda: measure(RESOLVE, 1000))() if depth > 2
            else measure(RESOLVE, 1000) for depth in depths]
print("%-10s" % sys.version.split()[0] + "".join("%8.0f" % ns for ns in reads) + "   "
      + "".join("%8.0f" % ns for ns in resolves))
