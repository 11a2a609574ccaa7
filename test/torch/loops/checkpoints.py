"""A checkpoint after every second step. It has more parameters than a step has launches, and each
is copied to the host."""
import io

import torch
from torch import nn

import marks

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
# Few of these are used.
model.scales = nn.ParameterList(nn.Parameter(torch.ones(16 + i, device="cuda")) for i in range(36))
optimizer = torch.optim.Adam(model.parameters())
for step in range(120):
    loss = model[:3](torch.randn(16, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    marks.step()
    if step % 2:
        torch.save({name: value.cpu() for name, value in model.state_dict().items()}, io.BytesIO())
        marks.belongs_to_either()
