"""A wait that blocks for most of the step but costs nothing: the host has nothing else to do."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = cuda.kernels("forward_900us backward_1500us update_300us")


def step(_, fixed):
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)
    if not fixed:
        cuda.StreamSynchronize(stream)  # PLANTED


kit.measure(step, cuda.DeviceSynchronize)
