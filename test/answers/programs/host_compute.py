"""Between the kernels of a step the host computes something that they don't need."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
query, key, value = cuda.kernels("query_40us key_30us value_50us")


def plan(fixed):
    if not fixed:
        kit.spin(900)


def step(_, fixed):
    cuda.launch(query, stream=stream)
    cuda.launch(key, stream=stream)
    cuda.launch(value, stream=stream)  # PLANTED
    plan(fixed)  # PLANTED
    cuda.launch(value, stream=stream)  # PLANTED
    cuda.launch(key, stream=stream)
    cuda.launch(query, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
