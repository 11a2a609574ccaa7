"""Shared by the programs of the answer-key suite: a loop that measures itself, and CUDA by ctypes.

A program defines step(i, fixed) and passes it to measure(). Alone it prints how long a step takes:

    FIXED=1 python3 PROGRAM      the fixed twin; without FIXED the slow one
    ROUNDS=5 python3 PROGRAM     both, alternating, five times each: what the fix saves

Kernels compute nothing: each spins for the time in its name, measured by a real GPU's clock and
computed by the simulated GPU. The programs make their CUDA calls themselves, because the keys name
the lines of calls.
"""
import ctypes
import json
import os
import statistics
import sys
import time

WARM = 10  # steps before the measured ones
STEPS = int(os.environ.get("STEPS", "60"))
FIXED = os.environ.get("FIXED") == "1"
ROUNDS = int(os.environ.get("ROUNDS", "0"))

TO_DEVICE, TO_HOST = 1, 2
NON_BLOCKING = 1  # of streams; of events: blocking sync
NO_TIMING = 2


def run(step, wait, fixed):
    """Returns the mean milliseconds per step of one loop, and those of each step by the host's
    clock; wait() waits for the device."""
    begins = []
    for i in range(WARM + STEPS):
        if i == WARM:
            wait()
        begins.append(time.monotonic_ns())
        step(i, fixed)
    begins.append(time.monotonic_ns())
    wait()
    mean_ms = (time.monotonic_ns() - begins[WARM]) / STEPS / 1e6
    return mean_ms, [(end - begin) / 1e6 for begin, end in zip(begins[WARM:], begins[WARM + 1:])]


def measure(step, wait, start=None):
    """Runs the loop as the environment says and prints the result; calls start(fixed) before each
    loop."""
    result = {"slow_ms": [], "fixed_ms": [], "median_ms": [], "least_ms": []}
    for fixed in [False, True] * ROUNDS or [FIXED]:
        if start:
            start(fixed)
        mean_ms, each_ms = run(step, wait, fixed)
        result["fixed_ms" if fixed else "slow_ms"].append(mean_ms)
        result["median_ms"].append(statistics.median(each_ms))
        result["least_ms"].append(min(each_ms))
    medians = {key: statistics.median(values) for key, values in result.items() if values}
    print(json.dumps({"steps": WARM + STEPS, **medians}), flush=True)


def spin(us):
    """Does host work that needs the CPU for this long, whatever else the machine does."""
    end = time.thread_time_ns() + int(us * 1000)
    while time.thread_time_ns() < end:
        pass


def copy_bytes(us):
    """Returns how many bytes a copy between pinned memory and the device moves in this time."""
    return int(us * 1000 * float(os.environ.get("PROFSIM_H2D_GBPS", "25")))


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def check(status):
    if status:
        raise RuntimeError(f"CUDA error {status}")


PTX = """
.visible .entry {name}()
{{
    .reg .u64 %begin, %now;
    .reg .pred %busy;
    mov.u64 %begin, %globaltimer;
wait:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %busy, %now, {ns};
    @%busy bra wait;
    ret;
}}
"""
POINTER, SIZE, INT, UINT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint
OUT = ctypes.POINTER(ctypes.c_void_p)
ARGUMENTS = {
    "Malloc": [OUT, SIZE],
    "Free": [POINTER],
    "MallocAsync": [OUT, SIZE, POINTER],
    "FreeAsync": [POINTER, POINTER],
    "HostAlloc": [OUT, SIZE, UINT],
    "Memcpy": [POINTER, POINTER, SIZE, INT],
    "MemcpyAsync": [POINTER, POINTER, SIZE, INT, POINTER],
    "MemsetAsync": [POINTER, INT, SIZE, POINTER],
    "StreamCreateWithFlags": [OUT, UINT],
    "StreamSynchronize": [POINTER],
    "DeviceSynchronize": [],
    "StreamWaitEvent": [POINTER, POINTER, UINT],
    "EventCreateWithFlags": [OUT, UINT],
    "EventRecord": [POINTER, POINTER],
    "EventSynchronize": [POINTER],
    "EventQuery": [POINTER],
    "LibraryLoadData": [OUT, ctypes.c_char_p, POINTER, POINTER, UINT, POINTER, POINTER, UINT],
    "LibraryGetKernel": [OUT, POINTER, ctypes.c_char_p],
}


class Cuda:
    """The CUDA runtime: cuda.Malloc is cudaMalloc, and raises if that fails.

    It is called directly, so that no line of this file is in the stack.
    """

    def __init__(self):
        for name in ("libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so"):
            try:
                library = ctypes.CDLL(name)
                break
            except OSError:
                continue
        else:
            sys.exit("no libcudart.so here")
        for name, arguments in ARGUMENTS.items():
            prototype = ctypes.CFUNCTYPE(INT, *arguments)
            setattr(self, name, prototype(("cuda" + name, library)))
            getattr(self, name).restype = check
        self.EventQuery.restype = INT
        launch = ctypes.CFUNCTYPE(INT, POINTER, Dim3, Dim3, POINTER, SIZE, POINTER)
        self.launch = launch(("cudaLaunchKernel", library), (
            (1, "kernel"), (1, "grid", Dim3(1, 1, 1)), (1, "block", Dim3(32, 1, 1)),
            (1, "arguments", None), (1, "shared", 0), (1, "stream", None)))
        self.launch.restype = check

    def made(self, name, *arguments):
        handle = POINTER()
        getattr(self, name)(ctypes.byref(handle), *arguments)
        return handle.value

    def kernel(self, name):
        """Returns a kernel that spins for the N microseconds of its name's _Nus. Launch it with
        cuda.launch(kernel, stream=...)."""
        ns = int(name.rsplit("_", 1)[1][:-2]) * 1000
        ptx = ".version 7.0\n.target sm_75\n.address_size 64\n" + PTX.format(name=name, ns=ns)
        library = self.made("LibraryLoadData", ptx.encode(), None, None, 0, None, None, 0)
        return self.made("LibraryGetKernel", library, name.encode())

    def kernels(self, names):
        return [self.kernel(name) for name in names.split()]

    def stream(self):
        return self.made("StreamCreateWithFlags", NON_BLOCKING)

    def event(self):
        return self.made("EventCreateWithFlags", NO_TIMING)

    def device(self, size):
        return self.made("Malloc", size)

    def pinned(self, size):
        return self.made("HostAlloc", size, 0)


def pageable(size):
    """Returns the address of ordinary memory of this size, which is never freed."""
    pageable.kept.append(ctypes.create_string_buffer(size))
    return ctypes.addressof(pageable.kept[-1])


pageable.kept = []
