"""Batches come from a slow disk, one read at a time; the fixed twin's are in memory."""
import os
import tempfile
import time

import kit

SIZE = 128 << 10
cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = cuda.kernels("forward_200us backward_400us update_100us")
batch, host = cuda.device(SIZE), cuda.pinned(SIZE)
file = tempfile.TemporaryFile()
file.write(bytes(SIZE))


class Disk:
    def __iter__(self):
        return self

    def __next__(self):
        for part in range(4):
            time.sleep(0.0006)  # the disk's latency
            os.pread(file.fileno(), SIZE // 4, part * SIZE // 4)
        return host


class Memory(Disk):
    def __next__(self):
        return host


disk, memory = Disk(), Memory()


def step(_, fixed):
    source = next(memory if fixed else disk)  # PLANTED
    cuda.MemcpyAsync(batch, source, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
