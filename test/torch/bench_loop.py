"""The launch-bound loop that costs are measured on: ten Linear(256, 256), Adam, .item() each step; about 0.85 ms a step on the
simulated GPU. Writes each step's milliseconds, a line each.

usage: bench_loop.py STEPS FILE [LIBRARY SKIP BLOCK]     LIBRARY: cupti_alone.c, switched on for every other BLOCK of steps after SKIP;
       or the word torch.profiler, which is on for the first of these blocks alone
"""
import ctypes
import sys
import time

import torch
from torch import nn

steps = int(sys.argv[1])
torch.manual_seed(0)
layers = []
for _ in range(10):
    layers += [nn.Linear(256, 256), nn.ReLU()]
model = nn.Sequential(*layers[:-1]).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
inputs, targets = torch.randn(64, 256, device="cuda"), torch.randn(64, 256, device="cuda")
times_ms = []


def torch_profiler():
    """A switch that goes on once and off once."""
    profiler, orders = torch.profiler.profile(), [True, False]

    def turn(on):
        if orders and orders[0] == bool(on):
            orders.pop(0)
            (profiler.start if on else profiler.stop)()
    return turn


def switch_of(library):
    return torch_profiler() if library == "torch.profiler" else ctypes.CDLL(library).cupti_alone


switch = switch_of(sys.argv[3]) if len(sys.argv) > 3 else None
skip, block = (int(text) for text in sys.argv[4:6]) if switch else (0, 0)
for step in range(steps):
    if switch and step >= skip and (step - skip) % block == 0 and switch((step - skip) // block % 2):
        sys.exit("bench_loop: CUPTI refuses")
    began = time.perf_counter()
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
    times_ms.append((time.perf_counter() - began) * 1e3)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.writelines(f"{ms:.6f}\n" for ms in times_ms)
