"""Every third step a blocking copy fetches the loss for a log line, and the GPU runs dry."""
import ctypes

import kit

cuda = kit.Cuda()
stream = cuda.stream()
kernels = cuda.kernels("embed_50us attention_150us mlp_100us head_20us loss_10us "
                       "loss_backward_10us head_backward_40us "
                       "mlp_backward_200us attention_backward_250us embed_backward_50us "
                       "norms_10us clip_10us update_100us")
loss = cuda.device(4096)
seen = ctypes.c_float()
history = []


def log():
    cuda.Memcpy(ctypes.addressof(seen), loss, 4, kit.TO_HOST)  # PLANTED
    history.append(seen.value)


def step(i, fixed):
    kit.spin(850)
    for kernel in kernels:
        cuda.launch(kernel)
    if i % 3 == 0 and not fixed:
        log()


kit.measure(step, cuda.DeviceSynchronize)
