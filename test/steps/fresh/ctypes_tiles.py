# step: loop at line 64; iterations 80
"""No framework: numpy and the CUDA runtime by ctypes. Each frame goes to the GPU in four tiles, is
cleared there and comes back, with two streams in turn."""
import ctypes

import numpy as np

FRAMES, TILES, SIDE = 80, 4, 64

cudart = ctypes.CDLL("libcudart.so.13")
H2D, D2H = 1, 2


class CudaError(RuntimeError):
    pass


def call(name, *arguments):
    status = getattr(cudart, name)(*arguments)
    if status:
        raise CudaError(f"{name}: {status}")


def stream():
    handle = ctypes.c_void_p()
    call("cudaStreamCreate", ctypes.byref(handle))
    return handle


class Buffer:
    def __init__(self, size):
        self.pointer, self.size = ctypes.c_void_p(), ctypes.c_size_t(size)
        call("cudaMalloc", ctypes.byref(self.pointer), self.size)

    def upload(self, array, on):
        call("cudaMemcpyAsync", self.pointer, array.ctypes.data_as(ctypes.c_void_p), self.size, H2D,
             on)

    def download(self, array, on):
        call("cudaMemcpyAsync", array.ctypes.data_as(ctypes.c_void_p), self.pointer, self.size, D2H,
             on)

    def close(self):
        call("cudaFree", self.pointer)


def process(frame, out, buffers, streams):
    rows = SIDE // TILES
    for n in range(TILES):
        on, buffer = streams[n % 2], buffers[n]
        tile = np.ascontiguousarray(frame[n * rows:(n + 1) * rows])
        buffer.upload(tile, on)
        call("cudaMemsetAsync", buffer.pointer, 0, ctypes.c_size_t(64), on)
        buffer.download(out[n * rows:(n + 1) * rows], on)
    for on in streams:
        call("cudaStreamSynchronize", on)


def main():
    streams = [stream(), stream()]
    buffers = [Buffer(SIDE // TILES * SIDE * 4) for _ in range(TILES)]
    generator, out = np.random.default_rng(0), np.zeros((SIDE, SIDE), dtype=np.float32)
    total = 0.0
    for number in range(FRAMES):
        frame = generator.standard_normal((SIDE, SIDE), dtype=np.float32)
        process(frame, out, buffers, streams)
        total += float(np.abs(out - frame).sum())
    for buffer in buffers:
        buffer.close()
    print("frames", number + 1, total > 0)


if __name__ == "__main__":
    main()
