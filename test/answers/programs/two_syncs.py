"""Two waits in a row. The first seems to be the cause and blocks for all of the time.

The second is hidden by it: removing only the first saves nothing. The fixed twin lacks the first.
"""
import kit

cuda = kit.Cuda()
stream, done = cuda.stream(), cuda.event()
forward, backward, update = cuda.kernels("forward_400us backward_500us update_100us")


def step(_, fixed):
    kit.spin(900)
    cuda.launch(forward, stream=stream)
    cuda.launch(backward, stream=stream)
    cuda.launch(update, stream=stream)
    cuda.EventRecord(done, stream)
    if not fixed:
        cuda.EventSynchronize(done)  # PLANTED
    cuda.StreamSynchronize(stream)  # PLANTED


kit.measure(step, cuda.DeviceSynchronize)
