"""The backward pass runs on a second thread, which waits for the device after each layer."""
import queue
import threading

import kit

cuda = kit.Cuda()
stream = cuda.stream()
gradient, = cuda.kernels("gradient_200us")
forward = cuda.kernels("embed_20us attention_80us mlp_60us norm_10us head_20us loss_5us")
update = cuda.kernels("norms_10us clip_5us update_50us decay_10us")
work, done = queue.SimpleQueue(), queue.SimpleQueue()


def backward(fixed):
    for _ in range(5):
        kit.spin(170)
        cuda.launch(gradient, stream=stream)
        if not fixed:
            cuda.StreamSynchronize(stream)  # PLANTED


def autograd():
    while (fixed := work.get()) is not None:
        backward(fixed)
        done.put(None)


def step(_, fixed):
    for kernel in forward:
        cuda.launch(kernel, stream=stream)
    work.put(fixed)
    done.get()
    for kernel in update:
        cuda.launch(kernel, stream=stream)


threading.Thread(target=autograd, daemon=True).start()
kit.measure(step, cuda.DeviceSynchronize)
work.put(None)
