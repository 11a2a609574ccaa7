# step: loop at line 22; iterations 80
"""An inference server: clients put requests into a queue, a worker thread takes one after another,
runs the model and answers through a future."""
import queue
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import nn


class Server:
    def __init__(self):
        self.requests = queue.Queue()
        self.model = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(),
                                   nn.Linear(48, 6)).cuda().eval()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            item = self.requests.get()
            if item is None:
                break
            x, future = item
            with torch.inference_mode():
                scores = self.model(x.cuda()).softmax(dim=-1)
                top, label = scores.topk(2)
                future.set_result((label.cpu().tolist(), top.cpu().tolist()))

    def predict(self, x):
        future = Future()
        self.requests.put((x, future))
        return future.result()

    def stop(self):
        self.requests.put(None)
        self.thread.join()


def client(server, number):
    answers = 0
    for i in range(20):
        time.sleep(0.002 * (number + 1))
        label, top = server.predict(torch.randn(1 + i % 3, 24))
        answers += 1
    return answers


server = Server()
with ThreadPoolExecutor(4) as pool:
    total = sum(pool.map(lambda n: client(server, n), range(4)))
server.stop()
print("answers", total)
