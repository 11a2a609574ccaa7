"""The computation waits for the event recorded last, which is that of the next batch's copy.

The fixed twin waits for its own batch.
"""
import kit

SIZE = kit.copy_bytes(1000)
cuda = kit.Cuda()
compute, copies = cuda.stream(), cuda.stream()
copied = [cuda.event(), cuda.event()]
used = [cuda.event(), cuda.event()]
forward, backward, update = cuda.kernels("forward_350us backward_700us update_150us")
buffers, host = [cuda.device(SIZE), cuda.device(SIZE)], cuda.pinned(SIZE)


def step(i, fixed):
    now, then = i % 2, (i + 1) % 2
    cuda.StreamWaitEvent(copies, used[then], 0)
    cuda.MemcpyAsync(buffers[then], host, SIZE, kit.TO_DEVICE, copies)  # PLANTED
    cuda.EventRecord(copied[then], copies)
    cuda.StreamWaitEvent(compute, copied[now if fixed else then], 0)  # PLANTED
    cuda.launch(forward, stream=compute)
    cuda.launch(backward, stream=compute)
    cuda.launch(update, stream=compute)
    cuda.EventRecord(used[now], compute)


kit.measure(step, cuda.DeviceSynchronize)
