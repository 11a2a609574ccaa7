"""Scratch memory is allocated and freed for each layer, and each free waits for the device.

The fixed twin keeps one buffer.
"""
import ctypes

import kit

SIZE = 8 << 20
cuda = kit.Cuda()
stream = cuda.stream()
linear, norm = cuda.kernels("linear_180us norm_20us")
rest = cuda.kernels("loss_10us loss_backward_10us weights_30us inputs_30us norms_10us clip_5us "
                    "update_20us decay_5us")
kept = cuda.device(SIZE)


def layer(fixed):
    scratch = ctypes.c_void_p(kept)
    if not fixed:
        cuda.Malloc(ctypes.byref(scratch), SIZE)  # PLANTED
    kit.spin(150)
    cuda.launch(linear, stream=stream)
    cuda.launch(norm, stream=stream)
    if not fixed:
        cuda.Free(scratch)  # PLANTED


def step(_, fixed):
    for _ in range(6):
        layer(fixed)
    for kernel in rest:
        cuda.launch(kernel, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
