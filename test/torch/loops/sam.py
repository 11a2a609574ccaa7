"""Sharpness-aware minimization as most write it: an optimizer that wraps another one and calls the
closure a second time."""
import torch
from torch import nn

import marks


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **options):
        super().__init__(params, dict(rho=rho, **options))
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm(p=2) for group in self.param_groups
                                       for p in group["params"]]), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                self.state[p]["old"] = p.data.clone()
                p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old"]
        self.base.step()
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure):
        closure = torch.enable_grad()(closure)
        closure()
        self.first_step()
        closure()
        self.second_step()


model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                      nn.Linear(64, 10)).cuda()
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
for step in range(60):
    inputs, labels = torch.randn(16, 32).cuda(), torch.randint(10, (16,)).cuda()

    def closure():
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        return loss

    optimizer.step(closure)
    marks.step()
