"""Input comes through a chain of generators, one of which is slow.

The copy to the device is small and from pageable memory.
"""
import itertools

import kit

SIZE = 32 << 10
cuda = kit.Cuda()
stream = cuda.stream()
kernels = cuda.kernels("embed_40us attention_200us mlp_150us loss_10us backward_300us update_100us")
device, host = cuda.device(SIZE), kit.pageable(SIZE)


def records():
    for i in itertools.count():
        yield i


def tokenized(source, us):
    for record in source:
        kit.spin(us)
        yield record


def batches(source):
    while True:
        yield list(itertools.islice(source, 8))


slow, fast = (batches(tokenized(records(), us)) for us in (300, 0))


def step(_, fixed):
    next(fast if fixed else slow)  # PLANTED
    cuda.MemcpyAsync(device, host, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    for kernel in kernels:
        cuda.launch(kernel, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
