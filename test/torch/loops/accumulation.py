"""A step every four backward passes."""
import torch
from torch import nn

import marks

model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(5)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for batch in range(200):
    loss = model(torch.randn(8, 64, device="cuda")).square().mean() / 4
    loss.backward()
    if batch % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
        marks.step()
