"""Two causes of about the same size: slow input, and a wait in each layer. The mended twin has neither."""
import kit

SIZE = 256 << 10
cuda = kit.Cuda()
stream = cuda.stream()
linear, norm, update = (cuda.kernel(name) for name in ("linear_180us", "norm_20us", "update_50us"))
batch, host = cuda.device(SIZE), cuda.pinned(SIZE)


def decode(mended):
    if not mended:
        kit.spin(1200)
    return host


def step(_, mended):
    source = decode(mended)  # PLANTED
    cuda.MemcpyAsync(batch, source, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    for _ in range(6):
        kit.spin(190)
        cuda.launch(linear, stream=stream)
        cuda.launch(norm, stream=stream)
        if not mended:
            cuda.StreamSynchronize(stream)  # PLANTED
    cuda.launch(update, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
