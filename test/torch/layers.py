"""A model that reads a number from the device in each of its ten layers, with or without
torch.profiler. Writes each step's milliseconds, one line each.

usage: layers.py STEPS WARM_UP FILE [none|profiler|stacks]
       the profiler sees what follows the warm-up
"""
import contextlib
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

LAYERS, WIDTH = 10, 256


class SlowModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))
        self.largest = 0

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
            self.largest = x.max().item()  # PLANTED
        return x


def main():
    steps, warm_up, path, how = (int(sys.argv[1]), int(sys.argv[2]), sys.argv[3],
                                 (sys.argv[4:] or ["none"])[0])
    torch.manual_seed(0)
    model = SlowModel().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs = torch.randn(64, WIDTH, device="cuda")
    times_ms = []

    def run(n):
        for _ in range(n):
            began = time.perf_counter()
            loss = model(inputs).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            times_ms.append((time.perf_counter() - began) * 1e3)

    run(warm_up)
    other = contextlib.nullcontext() if how == "none" else profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], with_stack=how == "stacks")
    with other:
        run(steps)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{ms:.6f}\n" for ms in times_ms)


if __name__ == "__main__":
    main()
