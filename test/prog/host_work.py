#!/usr/bin/env python3
"""Known work of the CPU between two CUDA calls, for the tests of host samples.

Each iteration runs the functions of PARTS, one after the other, and then a copy to the GPU and a
synchronization. Prints, as JSON, how many seconds each function took.

usage: host_work.py ITERATIONS [PART...]        default: all parts
"""
import ctypes
import gc
import json
import os
import sys
import threading
import time
import zlib

from demo import TO_DEVICE, Cuda

PART_S = 0.003
go, done = threading.Event(), threading.Event()
pipe_out, pipe_in = os.pipe()
wanted = []


def helper():
    """Lets the main thread wait: for an event, or for a byte in a pipe."""
    while True:
        go.wait()
        go.clear()
        time.sleep(PART_S)
        if wanted.pop() == "event":
            done.set()
        else:
            os.write(pipe_in, b"x")


def spin():
    end = time.perf_counter() + PART_S
    n = 0
    while time.perf_counter() < end:
        n += 1


def generate():
    sum(i * i for i in range(30000))


def sleep():
    time.sleep(PART_S)


def wait():
    wanted.append("event")
    go.set()
    done.wait()
    done.clear()


def read():
    wanted.append("byte")
    go.set()
    os.read(pipe_out, 1)


def collect():
    gc.collect()


def compress():
    zlib.compress(TEXT, 6)


TEXT = b"".join(b"%d " % (i * 7919) for i in range(4000))
PARTS = {f.__name__: f for f in (spin, generate, sleep, wait, read, collect, compress)}


def main():
    names = sys.argv[2:] or list(PARTS)
    took_s = dict.fromkeys(names, 0.0)
    cuda = Cuda()
    stream = cuda.made("StreamCreate")
    device = cuda.made("Malloc", ctypes.c_size_t(4096))
    host = ctypes.create_string_buffer(4096)
    gc.disable()
    kept = [{"number": i} for i in range(50000)] if "collect" in names else []
    threading.Thread(target=helper, daemon=True).start()
    for _ in range(int(sys.argv[1])):
        for name in names:
            begin = time.perf_counter()
            PARTS[name]()
            took_s[name] += time.perf_counter() - begin
        cuda.MemcpyAsync(device, host, ctypes.c_size_t(4096), TO_DEVICE, stream)
        cuda.StreamSynchronize(stream)
    print(json.dumps(took_s), flush=True)
    del kept


main()
