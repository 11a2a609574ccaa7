"""Convolutions with BatchNorm, SGD with Nesterov momentum and a schedule, pinned input."""
import torch
from torch import nn

import marks


def block(n_in, n_out):
    return nn.Sequential(nn.Conv2d(n_in, n_out, 3, padding=1), nn.BatchNorm2d(n_out), nn.ReLU(),
                         nn.MaxPool2d(2))


model = nn.Sequential(block(3, 8), block(8, 16), nn.Flatten(), nn.Linear(16 * 16, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 20)
for step in range(60):
    images = torch.randn(4, 3, 16, 16).pin_memory().cuda(non_blocking=True)
    labels = torch.zeros(4, dtype=torch.long).pin_memory().cuda(non_blocking=True)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    schedule.step()
    marks.step()
