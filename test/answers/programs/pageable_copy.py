"""The next batch is copied from ordinary memory, so the copy waits for all kernels before it; the mended twin's is pinned."""
import os

import kit

SIZE = int(os.environ.get("BATCH_MIB", "1")) << 20  # a driver that copies little aside first does not wait for it
cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = cuda.kernels("forward_300us backward_500us update_100us")
batch = cuda.device(SIZE)
ordinary, pinned = kit.pageable(SIZE), cuda.pinned(SIZE)


def step(_, mended):
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)
    source = pinned if mended else ordinary
    cuda.MemcpyAsync(batch, source, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    kit.spin(800)


kit.measure(step, cuda.DeviceSynchronize)
