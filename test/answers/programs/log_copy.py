"""Every third step a blocking copy fetches the loss for a log line, and the GPU runs dry."""
import ctypes

import kit

cuda = kit.Cuda()
stream = cuda.stream()
forward, backward, update = (cuda.kernel(name) for name in ("forward_300us", "backward_500us", "update_200us"))
loss = cuda.device(4096)
seen = ctypes.c_float()
history = []


def log():
    cuda.Memcpy(ctypes.addressof(seen), loss, 4, kit.TO_HOST)  # PLANTED
    history.append(seen.value)


def step(i, mended):
    kit.spin(850)
    cuda.launch(forward)
    cuda.launch(backward)
    cuda.launch(update)
    if i % 3 == 0 and not mended:
        log()


kit.measure(step, cuda.DeviceSynchronize)
