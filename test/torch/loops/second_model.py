"""Pre-training one model, then training another: the first one's kernels do not come again."""
import torch
from torch import nn

import marks


def train(model, optimizer, width, steps):
    for _ in range(steps):
        loss = model(torch.randn(16, width, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        marks.step()


first = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
train(first, torch.optim.SGD(first.parameters(), lr=0.1), 64, 60)
second = nn.Sequential(*[nn.Sequential(nn.LayerNorm(96), nn.Linear(96, 96), nn.GELU())
                         for _ in range(4)]).cuda()
train(second, torch.optim.Adam(second.parameters()), 96, 120)
