"""Each step copies weights to the device and results back, and computes little.

The fixed twin copies a quarter.
"""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
forward, update = cuda.kernels("forward_150us update_50us")
LARGE, SMALL = kit.copy_bytes(2000), kit.copy_bytes(500)
device, host = cuda.device(LARGE), cuda.pinned(LARGE)


def step(_, fixed):
    size = SMALL if fixed else LARGE
    cuda.MemcpyAsync(device, host, size, kit.TO_DEVICE, stream)  # PLANTED
    cuda.launch(forward, stream=stream)
    cuda.launch(update, stream=stream)
    cuda.MemcpyAsync(host, device, kit.copy_bytes(100), kit.TO_HOST, stream)


kit.measure(step, cuda.DeviceSynchronize)
