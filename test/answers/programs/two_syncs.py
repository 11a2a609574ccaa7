"""Two waits in a row. The first looks like the cause and blocks for all of the time, but the second hides behind it: with the
first alone gone nothing is won. The mended twin is without the first."""
import kit

cuda = kit.Cuda()
stream, done = cuda.stream(), cuda.event()
forward, backward, update = cuda.kernels("forward_400us backward_500us update_100us")


def step(_, mended):
    kit.spin(900)
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)
    cuda.EventRecord(done, stream)
    if not mended:
        cuda.EventSynchronize(done)  # PLANTED
    cuda.StreamSynchronize(stream)  # PLANTED


kit.measure(step, cuda.DeviceSynchronize)
