"""torch.compile of a small network; the loss is read every step."""
import torch
from torch import nn

import marks

model = nn.Sequential(nn.Linear(64, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 64)).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(80):
    loss = compiled(torch.randn(32, 64).cuda()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
    marks.step()
