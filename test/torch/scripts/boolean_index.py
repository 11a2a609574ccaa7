"""Rows are chosen with a mask: how many there are has to come back to the host."""
import torch
from torch import nn

import clock

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(256, 64, device="cuda")
for _ in clock.steps(50):
    out = model(x)
    chosen = out[out[:, 0] > 0]  # PLANTED
    loss = out.square().mean() + chosen.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
