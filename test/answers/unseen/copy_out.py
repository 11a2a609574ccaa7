"""Every step writes its activations out to the host, which takes most of the step; the mended twin writes a quarter."""
import kit

cuda = kit.Cuda()
stream = cuda.stream()
kernels = cuda.kernels("embed_40us attention_100us mlp_80us head_20us")
LARGE, SMALL = kit.copy_bytes(1600), kit.copy_bytes(400)
device, host = cuda.device(LARGE), cuda.pinned(LARGE)


def step(_, mended):
    for kernel in kernels:
        cuda.launch(kernel, stream=stream)
    cuda.MemcpyAsync(host, device, SMALL if mended else LARGE, kit.TO_HOST, stream)  # PLANTED


kit.measure(step, cuda.DeviceSynchronize)
