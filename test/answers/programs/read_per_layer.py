"""Reads a scalar back in each layer, like .item(): an asynchronous copy to the host and a wait."""
import ctypes

import kit

cuda = kit.Cuda()
stream = cuda.stream()
linear, norm = cuda.kernels("linear_90us norm_30us")
rest = cuda.kernels("loss_10us loss_backward_10us weights_30us inputs_30us norms_10us clip_5us "
                    "update_20us decay_5us")
memory = cuda.device(1 << 20)
scalar = ctypes.c_float()


def item():
    cuda.MemcpyAsync(ctypes.addressof(scalar), memory, 4, kit.TO_HOST, stream)  # PLANTED
    return scalar.value


def step(_, fixed):
    for _ in range(8):
        kit.spin(120)
        cuda.launch(linear, stream=stream)
        cuda.launch(norm, stream=stream)
        if not fixed:
            item()
    for kernel in rest:
        cuda.launch(kernel, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
