"""Each step does more work after the optimizer: it updates the user's own average of the weights
and a running loss."""
import copy

import torch
from torch import nn

import marks

model = nn.Sequential(nn.Linear(32, 640), nn.ReLU(), nn.Linear(640, 10)).cuda()
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters())
total = torch.zeros((), device="cuda")
for step in range(60):
    inputs, labels = torch.randn(16, 32).cuda(), torch.randint(10, (16,)).cuda()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for new, old in zip(model.parameters(), average.parameters()):
            old.mul_(0.99).add_(new, alpha=0.01)
        total += loss
    marks.step()
