"""Each step copies its activations to the host, which takes most of the step.

The fixed twin copies a quarter.
"""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
kernels = cuda.kernels("embed_40us attention_100us mlp_80us head_20us")
LARGE, SMALL = kit.copy_bytes(1600), kit.copy_bytes(400)
device, host = cuda.device(LARGE), cuda.pinned(LARGE)


def step(_, fixed):
    for kernel in kernels:
        cuda.launch(kernel, stream=stream)
    cuda.MemcpyAsync(host, device, SMALL if fixed else LARGE, kit.TO_HOST, stream)  # PLANTED


kit.measure(step, cuda.DeviceSynchronize)
