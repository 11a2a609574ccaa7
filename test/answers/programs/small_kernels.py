"""Hundreds of tiny kernels: the GPU waits for launches. The fixed twin does the same with a few."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
tiny, first, last, fused = cuda.kernels("add_1us first_5us last_7us fused_150us")


def step(_, fixed):
    cuda.launch(first, stream=stream)
    if fixed:
        cuda.launch(fused, stream=stream)
    else:
        for _ in range(150):
            cuda.launch(tiny, stream=stream)  # PLANTED
    cuda.launch(last, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
