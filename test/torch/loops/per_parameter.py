"""An optimizer that updates its parameters one by one, with kernels that the forward pass launches,
too."""
import torch
from torch import nn

import marks

model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(5)],
                      nn.Linear(64, 8)).cuda()
parameters = list(model.parameters())
means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
for step in range(120):
    x, target = torch.randn(32, 64).cuda(), torch.zeros(32, dtype=torch.long).cuda()
    loss = nn.functional.cross_entropy(model(x * 0.9 + 0.1), target)
    loss.backward()
    with torch.no_grad():
        for p, mean, square in zip(parameters, means, squares):
            mean.mul_(0.9).add_(p.grad, alpha=0.1)
            square.mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
            p.addcdiv_(mean, square.sqrt().add_(1e-8), value=-1e-3)
            p.grad = None
    marks.step()
