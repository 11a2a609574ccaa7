"""Waiting for profrun to detect the steps, for programs in Python: see known.h."""
import ctypes
import os
import time

PACE_MS = int(os.environ.get("PACE_MS", "0"))
STEPS_AT = 192  # of struct journal_steps in struct journal_header (core/runtime/record.h)
AUTO, LEARNING = 0, (1, 2, 4, 7)  # enum step_mode, enum step_state


def journal():
    """Where this process's own journal is mapped, or None."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            words = line.split()
            if ".journal" in line and int(words[2], 16) == 0:
                return int(words[0].split("-")[0], 16)
    return None


def pace():
    """Waits until profrun has detected the steps, at most PACE_MS ms. Called once per step."""
    at = journal() if PACE_MS else None
    if not at:
        return
    mode, state = (ctypes.c_uint32 * 2).from_address(at + STEPS_AT + 32)
    until = time.monotonic() + PACE_MS / 1000
    while mode == AUTO and state in LEARNING and time.monotonic() < until:
        time.sleep(0.001)
        mode, state = (ctypes.c_uint32 * 2).from_address(at + STEPS_AT + 32)
