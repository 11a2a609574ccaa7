"""A GRU cell run one to six times a step, SGD."""
import random

import torch
from torch import nn

import marks

random.seed(3)
cell, head = nn.GRUCell(32, 32).cuda(), nn.Linear(32, 4).cuda()
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
for step in range(60):
    hidden = torch.zeros(8, 32, device="cuda")
    for _ in range(random.randint(1, 6)):
        hidden = cell(torch.randn(8, 32, device="cuda"), hidden)
    optimizer.zero_grad()
    head(hidden).sum().backward()
    optimizer.step()
    marks.step()
