"""A thread fills a queue with batches, more slowly than the GPU needs them."""
import queue
import threading
import time

import torch

STEPS, FETCH_S = 150, 0.006
torch.set_num_threads(1)
batches = queue.Queue(4)


def produce():
    for _ in range(STEPS):
        time.sleep(FETCH_S)
        batches.put(torch.ones(64, 128))
    batches.put(None)


threading.Thread(target=produce, daemon=True).start()
net = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(),
                          torch.nn.Linear(128, 10)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
while True:
    batch = batches.get()  # GUILTY
    if batch is None:
        break
    loss = net(batch.to("cuda")).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
torch.cuda.synchronize()
