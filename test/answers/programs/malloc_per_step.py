"""Scratch memory is allocated and freed for each layer, and each free waits for the device; the mended twin keeps one buffer."""
import ctypes

import kit

SIZE = 8 << 20
cuda = kit.Cuda()
stream = cuda.stream()
linear, norm, update = (cuda.kernel(name) for name in ("linear_180us", "norm_20us", "update_30us"))
kept = cuda.device(SIZE)


def layer(mended):
    scratch = ctypes.c_void_p(kept)
    if not mended:
        cuda.Malloc(ctypes.byref(scratch), SIZE)  # PLANTED
    kit.spin(150)
    cuda.launch(linear, stream=stream)
    cuda.launch(norm, stream=stream)
    if not mended:
        cuda.Free(scratch)  # PLANTED


def step(_, mended):
    for _ in range(6):
        layer(mended)
    cuda.launch(update, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
