"""Reads a scalar back in each layer, as .item() does: an asynchronous copy into a Python variable and a wait for it."""
import ctypes

import kit

cuda = kit.Cuda()
stream = cuda.stream()
linear, norm, peak = (cuda.kernel(name) for name in ("linear_90us", "norm_30us", "max_10us"))
memory = cuda.device(1 << 20)
scalar = ctypes.c_float()


def item():
    cuda.MemcpyAsync(ctypes.addressof(scalar), memory, 4, kit.TO_HOST, stream)  # PLANTED
    return scalar.value


def step(_, mended):
    for _ in range(8):
        kit.spin(120)
        cuda.launch(linear, stream=stream)
        cuda.launch(norm, stream=stream)
        if not mended:
            item()
    cuda.launch(peak, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
