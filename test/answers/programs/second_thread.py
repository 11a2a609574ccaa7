"""The backward pass runs on a second thread, which waits for the device after each layer."""
import queue
import threading

import kit

cuda = kit.Cuda()
stream = cuda.stream()
forward, gradient, update = (cuda.kernel(name) for name in ("forward_150us", "gradient_200us", "update_50us"))
work, done = queue.SimpleQueue(), queue.SimpleQueue()


def backward(mended):
    for _ in range(5):
        kit.spin(170)
        cuda.launch(gradient, stream=stream)
        if not mended:
            cuda.StreamSynchronize(stream)  # PLANTED


def autograd():
    while (mended := work.get()) is not None:
        backward(mended)
        done.put(None)


def step(_, mended):
    cuda.launch(forward, stream=stream)
    work.put(mended)
    done.get()
    cuda.launch(update, stream=stream)
    cuda.launch(forward, stream=stream)


threading.Thread(target=autograd, daemon=True).start()
kit.measure(step, cuda.DeviceSynchronize)
work.put(None)
