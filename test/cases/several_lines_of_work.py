"""After each step, several lines of one function work, none of them for most of the time."""
import time

import torch

STEPS, PART_S = 120, 0.002


def spin():
    end = time.perf_counter() + PART_S
    while time.perf_counter() < end:
        pass


def summarize(value):
    texts = []
    end = time.perf_counter() + PART_S
    while time.perf_counter() < end:
        texts.append(str(value))
    end = time.perf_counter() + PART_S
    while time.perf_counter() < end:
        texts.sort(reverse=len(texts) % 2)
    spin()
    return len(texts)


net = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(),
                          torch.nn.Linear(128, 10)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(STEPS):
    loss = net(torch.ones(64, 128, device="cuda")).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    summarize(loss.item())  # GUILTY
torch.cuda.synchronize()
