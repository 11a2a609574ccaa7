"""Four micro-batches a step; a decorated method deep below reads a counter back after each."""
import ctypes
import functools

import kit

cuda = kit.Cuda()
stream = cuda.stream()
forward = cuda.kernels("embed_20us attention_90us mlp_80us loss_10us")
backward = cuda.kernels(
    "loss_backward_10us mlp_backward_90us attention_backward_80us embed_backward_20us")
optimizer = cuda.kernels("norms_10us clip_5us adam_60us decay_10us zero_10us")


def counted(function):
    @functools.wraps(function)
    def call(self, *arguments):
        self.calls += 1
        return function(self, *arguments)
    return call


class Meter:
    def __init__(self):
        self.calls, self.value, self.on = 0, ctypes.c_int(), True
        self.memory, self.target = cuda.device(4096), ctypes.addressof(self.value)

    @counted
    def overflows(self):
        cuda.MemcpyAsync(self.target, self.memory, 4, kit.TO_HOST, stream)  # PLANTED
        return self.value.value


class Trainer:
    def __init__(self):
        self.meter = Meter()

    def micro_batch(self):
        kit.spin(300)
        for kernel in forward + backward:
            cuda.launch(kernel, stream=stream)
        return [self.meter.overflows() for _ in range(1) if self.meter.on]

    def step(self, _, fixed):
        self.meter.on = not fixed
        for _ in range(4):
            self.micro_batch()
        for kernel in optimizer:
            cuda.launch(kernel, stream=stream)


kit.measure(Trainer().step, cuda.DeviceSynchronize)
