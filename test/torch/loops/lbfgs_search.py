"""L-BFGS with a line search: as many evaluations of the closure as it takes, of a batch that is new in each step, whose loss is read behind it."""
import random

import torch
from torch import nn

import marks

random.seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)).cuda()
# what the simulated GPU computes is zero: no gradient is to be small enough, and how the loss falls is drawn
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe", tolerance_grad=-1, tolerance_change=-1)
for step in range(60):
    inputs, targets = torch.randn(64, 16).cuda(), torch.randn(64, 1).cuda()

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        return loss.item() + random.random()

    loss = optimizer.step(closure)
    with torch.no_grad():
        print(step, nn.functional.mse_loss(model(inputs), targets).item())
    marks.step()
