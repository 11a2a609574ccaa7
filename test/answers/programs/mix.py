"""Two causes of similar size: slow input, and a wait in each layer. The fixed twin has neither."""
import kit

SIZE = 256 << 10
cuda = kit.Cuda()
stream = cuda.stream()
linear, norm = cuda.kernels("linear_180us norm_20us")
rest = cuda.kernels("loss_10us loss_backward_10us weights_30us inputs_30us norms_10us clip_5us "
                    "update_20us decay_5us")
batch, host = cuda.device(SIZE), cuda.pinned(SIZE)


def decode(fixed):
    if not fixed:
        kit.spin(1200)
    return host


def step(_, fixed):
    source = decode(fixed)  # PLANTED
    cuda.MemcpyAsync(batch, source, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    for _ in range(6):
        kit.spin(190)
        cuda.launch(linear, stream=stream)
        cuda.launch(norm, stream=stream)
        if not fixed:
            cuda.StreamSynchronize(stream)  # PLANTED
    for kernel in rest:
        cuda.launch(kernel, stream=stream)


kit.measure(step, cuda.DeviceSynchronize)
