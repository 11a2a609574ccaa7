"""Decoding a batch on the CPU takes longer than its work on the GPU.

The fixed twin's batches are already decoded.
"""
import kit

SIZE = 256 << 10
cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = cuda.kernels("forward_300us backward_500us update_100us")
batch, host = cuda.device(SIZE), cuda.pinned(SIZE)


def next_batch(fixed):
    if not fixed:
        kit.spin(2500)
    return host


def step(_, fixed):
    source = next_batch(fixed)  # PLANTED
    cuda.MemcpyAsync(batch, source, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
