"""A sparse matrix is made of what came: the operator that sorts it and adds up what is there twice asks the device how much is left."""
import torch
from torch import nn

import clock

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, at, ones = torch.randn(256, 64, device="cuda"), torch.zeros(2, 999, dtype=torch.long, device="cuda"), torch.ones(999, device="cuda")
for _ in clock.steps(50):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    torch.sparse_coo_tensor(at, ones, (256, 256), check_invariants=False).coalesce()  # PLANTED
