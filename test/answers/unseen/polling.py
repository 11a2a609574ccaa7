"""Asks an event over and over whether the device is done, in place of a wait."""
import kit

NOT_READY = 600
cuda = kit.Cuda()
stream, done = cuda.stream(), cuda.event()
blocks = [cuda.kernels("attention_120us mlp_90us norm_10us") for _ in range(3)]
rest = cuda.kernels(
    "loss_10us loss_backward_20us weights_60us inputs_50us norms_10us clip_5us update_30us")


def wait():
    cuda.EventRecord(done, stream)
    while cuda.EventQuery(done) == NOT_READY:  # PLANTED
        pass


def step(_, fixed):
    for block in blocks:
        kit.spin(230)
        for kernel in block:
            cuda.launch(kernel, stream=stream)
        if not fixed:
            wait()
    for kernel in rest:
        cuda.launch(kernel, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
