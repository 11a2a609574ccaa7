"""Two towers that don't depend on each other share a stream; in the fixed twin each has its own."""
import kit

cuda = kit.Cuda()
left, right = cuda.stream(), cuda.stream()
joined = [cuda.event(), cuda.event()]
query, item, dot = cuda.kernels("query_tower_300us item_tower_300us dot_20us")


def step(_, fixed):
    other = right if fixed else left
    for _ in range(3):
        cuda.launch(query, stream=left)  # PLANTED
        cuda.launch(item, stream=other)  # PLANTED
    cuda.EventRecord(joined[0], other)
    cuda.StreamWaitEvent(left, joined[0], 0)
    cuda.launch(dot, stream=left)
    cuda.EventRecord(joined[1], left)
    cuda.StreamWaitEvent(other, joined[1], 0)


kit.measure(step, cuda.DeviceSynchronize)
