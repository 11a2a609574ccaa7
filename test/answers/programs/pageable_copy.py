"""The next batch is copied from pageable memory, so the copy waits for all kernels before it.

The fixed twin's memory is pinned.
"""
import os

import kit

# A driver that stages small copies does not wait for them.
SIZE = int(os.environ.get("BATCH_MIB", "1")) << 20
cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = cuda.kernels("forward_300us backward_500us update_100us")
batch = cuda.device(SIZE)
ordinary, pinned = kit.pageable(SIZE), cuda.pinned(SIZE)


def step(_, fixed):
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)
    source = pinned if fixed else ordinary
    cuda.MemcpyAsync(batch, source, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    kit.spin(800)


kit.measure(step, cuda.DeviceSynchronize)
