"""One long kernel is most of the step; the fixed twin's takes half the time."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
before, slow, fast, after = cuda.kernels("before_50us attention_2000us attention_1000us after_80us")


def step(_, fixed):
    cuda.launch(before, stream=stream)
    cuda.launch(fast if fixed else slow, stream=stream)  # PLANTED
    cuda.launch(after, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
