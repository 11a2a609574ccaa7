"""Trains, and ends in the middle.

usage: ends.py exception|_exit|wait     wait: prints "step 40" and waits for a signal"""
import os
import sys
import time

import torch
from torch import nn

how, = sys.argv[1:]
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(32, 64, device="cuda")
for step in range(1000):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, loss.item(), flush=True)
    if step == 40 and how == "exception":
        raise RuntimeError("no more data")
    if step == 40 and how == "_exit":
        os._exit(7)
    if step == 40 and how == "wait":
        time.sleep(60)
