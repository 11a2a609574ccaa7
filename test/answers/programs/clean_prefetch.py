"""Nothing to fix: batches are decoded and copied ahead while the GPU computes.

The copies have their own stream. The host only waits for the buffer that it fills next.
"""
import kit

SIZE = 512 << 10
cuda = kit.Cuda()
compute, copies = cuda.stream(), cuda.stream()
copied, used = [cuda.event(), cuda.event()], [cuda.event(), cuda.event()]
forward, backward, update = cuda.kernels("forward_700us backward_1200us update_200us")
buffers, hosts = [cuda.device(SIZE), cuda.device(SIZE)], [cuda.pinned(SIZE), cuda.pinned(SIZE)]


def prefetch(slot):
    cuda.EventSynchronize(copied[slot])
    kit.spin(600)
    cuda.StreamWaitEvent(copies, used[slot], 0)
    cuda.MemcpyAsync(buffers[slot], hosts[slot], SIZE, kit.TO_DEVICE, copies)
    cuda.EventRecord(copied[slot], copies)


def step(i, fixed):
    slot = i % 2
    cuda.StreamWaitEvent(compute, copied[slot], 0)
    cuda.launch(forward, stream=compute)
    cuda.launch(backward, stream=compute)
    cuda.launch(update, stream=compute)
    cuda.EventRecord(used[slot], compute)
    prefetch(1 - slot)


prefetch(0)
kit.measure(step, cuda.DeviceSynchronize)
