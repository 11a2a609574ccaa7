#!/usr/bin/env python3
"""An example to profile: a training loop in plain Python, on the CUDA runtime by ctypes.

Each of its eighty steps loads a batch, copies it to the GPU on a stream of its own, runs a forward
pass, a backward pass (on a second thread, like PyTorch's autograd) and an optimizer, and waits for
the loss. Kernels only spin, for the time in their names, so the printed loss is made up.

    ./profrun.sh [--sim] python3 test/prog/demo.py          --sim: without a GPU
"""
import argparse
import ctypes
import functools
import math
import queue
import sys
import threading
import time
from ctypes import c_size_t

LAYERS = 4
BATCH_BYTES = 2 << 20
ACTIVATION_BYTES = 8 << 20
KERNELS = ["linear_forward_200us", "gelu_forward_30us", "cross_entropy_60us",
           "cross_entropy_backward_40us", "gelu_backward_35us", "linear_backward_input_190us",
           "linear_backward_weight_210us", "adam_50us", "zero_grad_20us"]
TO_DEVICE, TO_HOST, NON_BLOCKING = 1, 2, 1


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Cuda:
    """The CUDA runtime: cuda.Malloc(...) calls cudaMalloc and raises if that fails."""

    def __init__(self):
        for name in ("libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so"):
            try:
                self.library = ctypes.CDLL(name)
                return
            except OSError:
                continue
        sys.exit("demo.py: no libcudart.so here; try ./profrun.sh --sim python3 test/prog/demo.py")

    def __getattr__(self, name):
        def check(status):
            if status:
                raise RuntimeError(f"cuda{name}: error {status}")

        function = getattr(self.library, "cuda" + name)
        function.restype = check  # no Python frame between a line and its call
        setattr(self, name, function)
        return function

    def made(self, name, *arguments):
        """For functions that hand out a handle or an address through their first argument."""
        handle = ctypes.c_void_p()
        getattr(self, name)(ctypes.byref(handle), *arguments)
        return handle


def spin(name):
    """Returns PTX of a kernel that spins for the N microseconds of its name's _Nus."""
    nanoseconds = int(name.rsplit("_", 1)[1][:-2]) * 1000
    return f"""
.visible .entry {name}()
{{
    .reg .u64 %begin, %now;
    .reg .pred %busy;
    mov.u64 %begin, %globaltimer;
wait:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %busy, %now, {nanoseconds};
    @%busy bra wait;
    ret;
}}
"""


class Model:
    def __init__(self, cuda):
        self.cuda = cuda
        ptx = ".version 7.0\n.target sm_75\n.address_size 64\n" + "".join(map(spin, KERNELS))
        library = cuda.made("LibraryLoadData", ptx.encode(), None, None, 0, None, None, 0)
        self.compute = cuda.made("StreamCreateWithFlags", NON_BLOCKING)
        for name in KERNELS:  # model.adam() launches adam_50us
            kernel = cuda.made("LibraryGetKernel", library, name.encode())
            launch = functools.partial(cuda.LaunchKernel, kernel, Dim3(32, 1, 1), Dim3(128, 1, 1),
                                       None, c_size_t(0), self.compute)
            setattr(self, name.rsplit("_", 1)[0], launch)

    def forward(self):
        """Returns the activations, which the backward pass frees."""
        kept = []
        for _ in range(LAYERS):
            kept.append(ctypes.c_void_p())
            self.cuda.MallocAsync(ctypes.byref(kept[-1]), c_size_t(ACTIVATION_BYTES), self.compute)
            self.linear_forward()
            self.gelu_forward()
        self.cross_entropy()
        return kept

    def backward(self, kept):
        self.cross_entropy_backward()
        for activation in reversed(kept):
            self.gelu_backward()
            self.linear_backward_input()
            self.linear_backward_weight()
            self.cuda.FreeAsync(activation, self.compute)

    def optimize(self):
        for _ in range(LAYERS):
            self.adam()
        self.zero_grad()


class Backward(threading.Thread):
    """Runs backward passes, one at a time, on a thread of its own."""

    def __init__(self, model):
        super().__init__(daemon=True)
        self.model, self.work, self.done = model, queue.SimpleQueue(), queue.SimpleQueue()
        self.start()

    def run(self):
        ctypes.CDLL(None).prctl(15, b"backward", 0, 0, 0)  # PR_SET_NAME, for the trace
        while (kept := self.work.get()) is not None:
            self.model.backward(kept)
            self.done.put(None)

    def __call__(self, kept):
        self.work.put(kept)
        self.done.get()


class Loader:
    """Makes batches in pinned memory and copies them on a stream of its own, ahead of their use."""

    def __init__(self, cuda, compute):
        self.cuda, self.compute = cuda, compute
        self.stream = cuda.made("StreamCreateWithFlags", NON_BLOCKING)
        self.ready = cuda.made("EventCreateWithFlags", 2)  # without timing
        self.host = cuda.made("HostAlloc", c_size_t(BATCH_BYTES), 0)
        self.device = cuda.made("Malloc", c_size_t(BATCH_BYTES))

    def next(self, step):
        time.sleep(0.002)  # reading and decoding
        ctypes.memset(self.host, step, 1 << 16)
        self.cuda.MemcpyAsync(self.device, self.host, c_size_t(BATCH_BYTES), TO_DEVICE, self.stream)
        self.cuda.EventRecord(self.ready, self.stream)
        self.cuda.StreamWaitEvent(self.compute, self.ready, 0)


def main():
    parser = argparse.ArgumentParser(description="an example training loop to profile")
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    cuda = Cuda()
    model = Model(cuda)
    backward, loader = Backward(model), Loader(cuda, model.compute)
    scalar = ctypes.c_float()
    for step in range(steps):
        loader.next(step)
        kept = model.forward()
        backward(kept)
        model.optimize()
        cuda.MemcpyAsync(ctypes.byref(scalar), loader.device, c_size_t(4), TO_HOST, model.compute)
        cuda.StreamSynchronize(model.compute)
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:3}  loss {0.35 + 1.95 * math.exp(-step / 25):.4f}", flush=True)
    backward.work.put(None)
    backward.join()


if __name__ == "__main__":
    main()
