"""L-BFGS with a line search. A step evaluates the closure as often as it needs, on a new batch, and
the loss is read after the step."""
import random

import torch
from torch import nn

import marks

random.seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                      nn.Linear(64, 1)).cuda()
# The simulated GPU computes zeros. So no gradient may count as small enough, and the loss falls at
# random.
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe",
                              tolerance_grad=-1, tolerance_change=-1)
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
