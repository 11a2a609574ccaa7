"""A thread prepares batches for a queue, too slowly: the training loop waits for the queue."""
import queue
import threading
import time

import kit

SIZE = 64 << 10
cuda = kit.Cuda()
stream = cuda.stream()
kernels = cuda.kernels("embed_40us attention_200us mlp_150us loss_10us backward_300us update_100us")
device, host = cuda.device(SIZE), cuda.pinned(SIZE)
slow = queue.Queue(maxsize=2)


def produce():
    while True:
        time.sleep(0.0025)
        slow.put(host)


def step(_, fixed):
    batch = host if fixed else slow.get()  # PLANTED
    cuda.MemcpyAsync(device, batch, SIZE, kit.TO_DEVICE, stream)  # PLANTED
    for kernel in kernels:
        cuda.launch(kernel, stream=stream)


threading.Thread(target=produce, daemon=True).start()
kit.measure(step, cuda.DeviceSynchronize)
