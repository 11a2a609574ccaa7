"""Multi-task training: each step picks one of three heads, of different depths, at random, on a
shared trunk."""
import random

import torch
from torch import nn

import marks

random.seed(6)
trunk = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU()).cuda()
heads = nn.ModuleList([
    nn.Linear(64, 3),
    nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 1)),
    nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)),
]).cuda()
optimizer = torch.optim.AdamW([*trunk.parameters(), *heads.parameters()])
for step in range(120):
    head = random.choices(range(3), (5, 3, 2))[0]
    out = heads[head](trunk(torch.randn(16, 64).cuda()))
    loss = (out.square().mean() if head == 1
            else nn.functional.cross_entropy(out, torch.zeros(16, dtype=torch.long).cuda()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    marks.step()
