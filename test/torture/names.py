"""Hostile names and settings: arguments, folders, environment, and names that programs choose.

The application gets its arguments and environment unchanged, byte by byte, whatever profrun makes
of its own settings.
"""
import functools
import os
import re
import shutil
import subprocess
import sys

import common
from harness import LAUNCHER, TOOL

PIECES = (b"plain", b"\x1b[31m", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x80\xae",
          b"\n", b"\r", b"\t", b"%s%n", b"'", b'"', b"\\", b"$(id)", b"`id`", b"*", b"?", b"~",
          b"-", b"--", b" ", b";", b"&", b"|", b"{", b"}", b"[", b"]", b",", b":", b"=",
          b"\x7f", b"\xc2\x9b", b"\x01", b"\xf0\x9f\x98\x80", b"..", b"<b>", b"0", b"9" * 30)
VALUES = (b"", b"0", b"-1", b"1", b"9" * 40, b"1e308", b"nan", b"0x10", b"always", b"off", b"on",
          b"all", b"none", b",", b"a,b", b"=", b"/", b"/dev/null", b"\xff", b"x" * 70000,
          b"loop:x.py:99999999999", b"kernel:((((", b"kernel:(a*)*b", b"nvtx:@", b"time:0",
          b"python::", b"flight=0", b"flight=99999999999", b"wait=-1", b"slow:nan", b"perfetto,",
          b"3-1", b"0," * 5000)
OF_RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
            "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "CUDA_VISIBLE_DEVICES", "HOME",
            "TMPDIR", "TERM", "LANG", "LC_ALL", "COLUMNS", "NO_COLOR", "TZ", "SHELL", "PATH", "PWD")
NAME_BYTES = 255
RUNS, RUNS_SHORT = 20, 2  # of each kind
# Prints its arguments, then what of its environment is not profrun's, the loader's or the shell's.
ECHO = """
import ctypes, os, sys
runtime, memory = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
for i in range(20):
    runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64))
    runtime.cudaFree(memory)
own = (b"LD_", b"PROF", b"_=", b"ASAN_", b"LC_CTYPE", b"CUDA_INJECTION",
       b"NVTX_INJECTION", b"PWD=")
print([os.fsencode(word) for word in sys.argv])
print(sorted(key + b"=" + value for key, value in os.environb.items()
             if not (key + b"=").startswith(own)))
print(os.getcwdb()[-9:], sys.stdin.buffer.read())
"""


def odd_bytes(chance, n_most=10):
    return b"".join(chance.choice(PIECES) for _ in range(chance.randint(1, n_most)))


def odd_name(chance):
    """Returns a name that a file can have."""
    name = odd_bytes(chance).replace(b"/", b"_")[:NAME_BYTES]
    return b"_" if name in (b".", b"..") else name


def echo(*arguments):
    return [os.fsencode(sys.executable), b"-c", ECHO.encode(), *arguments]


def arguments(place):
    chance = place.chance
    words = [odd_bytes(chance) for _ in range(chance.randint(0, 30))]
    if chance.random() < 0.2:
        words += [b"y" * 100000]
    return place.check(echo(*words), stdin=odd_bytes(chance), PROF_SCHEDULE="always")


def folders(place):
    """The run's folder, the working folder and the program have odd names."""
    chance, base = place.chance, os.fsencode(place.base)
    at = os.path.join(base, odd_name(chance))
    os.makedirs(at, exist_ok=True)
    program = os.path.join(at, b"p" + odd_name(chance)[:NAME_BYTES - 1])
    shutil.copy(os.path.join(common.PROGRAMS, "loop"), program)
    name = odd_name(chance)
    out = os.path.join(at, name)
    if out == program:
        return []
    bare = place.run([program, b"100"], cwd=at)
    is_relative = chance.random() < 0.5
    run = place.run([LAUNCHER, "--sim", "-o", b"./" + name if is_relative else out, "--", program,
                     b"100"], cwd=at, PROF_SCHEDULE="always")
    found = common.differences(bare, run)
    if not os.path.isdir(out) and b"without profiling" not in run.err:
        found.append(f"no folder {out}: {common.shown(run.err)}")
    return found + folder_of_bytes(place, out)


def folder_of_bytes(place, out):
    """Checks a folder whose name is not UTF-8 under another name."""
    found = []
    for words in ["info"], ["report"]:
        done = place.run([TOOL, words[0], b"./" + os.path.basename(out)], cwd=os.path.dirname(out))
        if done.status not in (0, 1) or (done.status and not done.err):
            found.append(f"{words[0]} ended with {done.status}: {common.shown(done.err)}")
        if re.search(rb"\x1b|\xe2\x80\xae|\xff", done.out + done.err):
            found.append(f"{words[0]} prints what came from outside: {common.shown(done.out)}")
    if os.path.isdir(out):
        os.rename(out, place.folder)
    return found + place.folder_faults()


def settings(place):
    """Random values for random settings, good ones included."""
    chance = place.chance
    env = {key: chance.choice(VALUES) for key in chance.sample(setting_names(), 4)}
    env.update({key: chance.choice(VALUES + (odd_bytes(chance),))
                for key in chance.sample(OF_RANKS, 3)})
    env.pop("PROF_OUT", None)
    command = [os.fsencode(word) for word in common.program("loop", "200", "plain", "100")]
    bare = run_with(place, env, command)
    ours = run_with(place, env, [*map(os.fsencode, (LAUNCHER, "--sim", "-o", place.folder, "--")),
                                 *command])
    found = common.differences(bare, ours)
    if re.search(rb"\x1b\[31m|\xe2\x80\xae|\xff", ours.err):
        found.append(f"prints what came from outside: {common.shown(ours.err)}")
    return [f"{env}: {fault}"[:2000] for fault in found + place.folder_faults()]


def run_with(place, env, command):
    """Runs a command whose environment has values that are not UTF-8."""
    words = [key.encode() + b"=" + value for key, value in env.items()]
    if b"PATH=" in b" ".join(words):  # `env` and the launcher's shell need it
        words = [word for word in words if not word.startswith(b"PATH=")]
    return place.run([b"/usr/bin/env", *words, *command])


@functools.lru_cache(maxsize=1)
def setting_names():
    out = subprocess.run([TOOL, "env"], capture_output=True, text=True, check=True,
                         env=common.environment()).stdout
    return [line for line in out.splitlines() if line.startswith("PROF_")]


def environment(place):
    """Odd variables, some of them not of the form NAME=VALUE, reach the application unchanged."""
    chance = place.chance
    words = [b"V%d=" % i + odd_bytes(chance) for i in range(chance.randint(0, 20))]
    words += [odd_bytes(chance).replace(b"=", b"") + b"=1"]
    words = [word for word in words if not word.startswith((b"=", b"-"))]
    command = [b"/usr/bin/env", *words, *echo()]
    return place.check(command, PROF_SCHEDULE="always")


def options(place):
    """Odd words on profrun's own command line: one clear line, and no signal."""
    chance = place.chance
    commands = ("report", "info", "export", "whatif", "trigger", "env", "run", "help", "")
    known = ("--json", "--top", "--step", "--format", "-o", "--kernel", "--free", "--without",
             "--steps", "--schedule", "--stacks", "--quiet", "--require-complete", "-h")
    line = [word for word in [chance.choice(commands)] if word]
    for _ in range(chance.randint(1, 5)):
        line.append(chance.choice((chance.choice(known), odd_bytes(chance),
                                   chance.choice(VALUES)[:60000])))
    done = place.run([LAUNCHER, *line], PROF_OUT=place.folder)
    if done.status == "does not end" or done.status < 0 or done.status >= 128:
        return [f"{line} ended with {done.status}: {common.shown(done.err)}"[:2000]]
    if re.search(rb"\x1b\[31m|\xe2\x80\xae|\xff", done.out + done.err):
        return [f"{line} prints what came from outside: {common.shown(done.err)}"[:2000]]
    return []


def names_in_programs(place):
    """NVTX ranges, threads and processes with names of every kind of byte."""
    formats = place.chance.choice(("perfetto", "perfetto,chrome,folded"))
    command = common.program("odd_names", str(place.chance.getrandbits(32)))
    return place.check(command, PROF_SCHEDULE="always", PROF_FORMAT=formats,
                       PROF_STEP=place.chance.choice(("auto", "sync")))


KINDS = {"arguments": arguments, "folders": folders, "settings": settings,
         "environment": environment, "options": options, "in-programs": names_in_programs}


def cases(_chance, is_short):
    for i in range(RUNS_SHORT if is_short else RUNS):
        for name, kind in KINDS.items():
            yield common.Case(f"{name}/{i}", kind)


GROUP = common.Group("names", cases, common.nothing_missing)
