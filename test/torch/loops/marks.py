"""True ends of steps, for the tests only. step() notes the time (CLOCK_MONOTONIC, ns). The times
are written to the file named by TRUE_STEPS when the program ends, the earliest and the latest end
of a step in each line. profrun does not use them."""
import atexit
import os
import time

_ends_ns = []


def step():
    _ends_ns.append([time.clock_gettime_ns(time.CLOCK_MONOTONIC)] * 2)


def belongs_to_either():
    """What came since step(), such as a checkpoint, may count for that step or for the next one."""
    if _ends_ns:
        _ends_ns[-1][1] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def setup_done():
    """What came before is no step: whoever counts turns of it is not wrong."""
    _ends_ns.clear()
    print("set up", time.clock_gettime_ns(time.CLOCK_MONOTONIC))


def _write(pid=os.getpid()):
    if os.getpid() == pid and "TRUE_STEPS" in os.environ:  # a loader's worker is a fork
        with open(os.environ["TRUE_STEPS"], "w", encoding="utf-8") as file:
            file.writelines(f"{first} {last}\n" for first, last in _ends_ns)


atexit.register(_write)
