"""The GPU limits most steps; one step in six, not in a rhythm, has work of the CPU that takes most
of the time."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
model = cuda.kernels("embed_200us attention_400us mlp_300us head_100us")


def balance(fixed):
    if not fixed:
        kit.spin(15000)  # PLANTED


def step(i, fixed):
    if i % 11 == 3 or i % 13 == 5:
        balance(fixed)
    for kernel in model:
        cuda.launch(kernel, stream=stream)
    cuda.StreamSynchronize(stream)


kit.measure(step, cuda.DeviceSynchronize)
