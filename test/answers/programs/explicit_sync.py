"""Waits for the device after each layer, so that host work and kernels never overlap."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
linear, bias, gelu = (cuda.kernel(name) for name in ("linear_150us", "bias_5us", "gelu_20us"))


def layer(mended):
    kit.spin(150)
    cuda.launch(linear, stream=stream)
    cuda.launch(bias, stream=stream)
    cuda.launch(gelu, stream=stream)
    if not mended:
        cuda.DeviceSynchronize()  # PLANTED


def step(_, mended):
    for _ in range(6):
        layer(mended)
    cuda.launch(gelu, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
