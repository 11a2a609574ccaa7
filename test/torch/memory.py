"""Trains an MLP with Adam. Prints, as JSON, what PyTorch's own counters say of its memory: at the
end of each step, and in total.

usage: memory.py [leak] [grown] [sgd]
       leak: a tensor is kept in each step
       grown: one step after the 20th needs much more
       sgd: an optimizer without state or blocks of its own, after which gradients and the step's
       scratch memory are freed
"""
import json
import sys
import time

import torch
from torch import nn

STEPS, WIDTH, BATCH = 40, 128, 32
LEAKS, GROWS, SGD = "leak" in sys.argv, "grown" in sys.argv, "sgd" in sys.argv
torch.manual_seed(0)
layers = []
for _ in range(6):
    layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
model = nn.Sequential(*layers[:-1]).cuda()
optimizer = (torch.optim.SGD(model.parameters(), lr=1e-3) if SGD
             else torch.optim.Adam(model.parameters(), lr=1e-3))
kept, ends = [], []
for step in range(STEPS):
    inputs, targets = torch.randn(BATCH, WIDTH).cuda(), torch.randn(BATCH, WIDTH).cuda()
    scratch = torch.empty(16 << 20, device="cuda", dtype=torch.uint8) if SGD else None
    loss = nn.functional.mse_loss(model(inputs), targets)
    if not SGD:
        optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if SGD:
        optimizer.zero_grad()
        del scratch
    if LEAKS:
        kept.append(inputs * 2)  # the leak
    if GROWS and step == 30:
        torch.empty(64 << 20, device="cuda").add_(1)
    loss.item()
    if step < 20:
        # Gives the collector time on a loaded machine: steps must be recorded before this short run
        # is over.
        time.sleep(0.02)
    ends.append([time.monotonic_ns(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved()])


def rounded(tensor):
    """As the allocator does."""
    return (tensor.numel() * tensor.element_size() + 511) // 512 * 512


print(json.dumps({"ends": ends, "peak": torch.cuda.max_memory_allocated(),
                  "peak_reserved": torch.cuda.max_memory_reserved(),
                  "parameters": sum(map(rounded, model.parameters())),
                  "left": torch.cuda.memory_allocated()}))
