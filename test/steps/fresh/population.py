# step: loop at line 16; iterations 240
"""Population-based training: each member trains for a while, then the worst copies the best."""
import random

import torch
from torch import nn


class Member:
    def __init__(self, lr):
        self.net = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1)).cuda()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr, momentum=0.9)
        self.score = 0.0

    def train(self, n):
        for _ in range(n):
            x = torch.randn(32, 20).cuda()
            loss = (self.net(x).squeeze() - x.sum(1)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def evaluate(self):
        with torch.no_grad():
            x = torch.randn(128, 20).cuda()
            self.score = -(self.net(x).squeeze() - x.sum(1)).square().mean().item()


random.seed(1)
members = [Member(10 ** random.uniform(-4, -2)) for _ in range(4)]
for generation in range(10):
    for member in members:
        member.train(6)
        member.evaluate()
    members.sort(key=lambda m: m.score)
    members[0].net.load_state_dict(members[-1].net.state_dict())
    members[0].optimizer.param_groups[0]["lr"] *= random.choice((0.8, 1.25))
