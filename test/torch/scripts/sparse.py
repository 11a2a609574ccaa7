"""Builds a sparse matrix from its input. The operator that sorts the elements and merges duplicates
asks the device how many remain."""
import torch
from torch import nn

import clock

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, at, ones = (torch.randn(256, 64, device="cuda"),
               torch.zeros(2, 999, dtype=torch.long, device="cuda"), torch.ones(999, device="cuda"))
for _ in clock.steps(50):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.sparse_coo_tensor(at, ones, (256, 256), check_invariants=False).coalesce()  # PLANTED
