"""Each step keeps what it allocated; the fixed twin gives it back in stream order."""
import ctypes

import kit

SIZE = 2 << 20
cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = cuda.kernels("forward_500us backward_800us update_100us")
history = []


def remember():
    activation = ctypes.c_void_p()
    cuda.MallocAsync(ctypes.byref(activation), SIZE, stream)  # PLANTED
    return activation


def step(_, fixed):
    activation = remember()
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)
    if fixed:
        cuda.FreeAsync(activation, stream)
    else:
        history.append(activation)


def start(_):
    while history:
        cuda.FreeAsync(history.pop(), stream)


kit.measure(step, cuda.DeviceSynchronize, start)
