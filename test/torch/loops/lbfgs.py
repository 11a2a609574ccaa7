"""L-BFGS on one fixed batch. A step evaluates the closure five times, and its history grows. The
loss is read between two steps."""
import torch
from torch import nn

import marks

inputs, targets = torch.randn(256, 16).cuda(), torch.randn(256, 1).cuda()
model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                      nn.Linear(64, 1)).cuda()
# The simulated GPU computes zeros. So no gradient may count as small enough, and the curvature,
# which is compared with 1e-10, must be used.
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=5, history_size=10, tolerance_grad=-1,
                              tolerance_change=-1)
is_greater = torch.Tensor.__gt__
torch.Tensor.__gt__ = lambda a, b: bool(is_greater(a, b)) or b == 1e-10


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    return loss


for step in range(60):
    loss = optimizer.step(closure)
    print(step, loss.item())
    marks.step()
