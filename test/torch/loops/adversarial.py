"""Adversarial training (projected gradient descent): seven backward passes change the input, each followed by a few launches that look like an
optimizer's; the eighth is the model's, and then its optimizer steps. After each 25 steps the accuracy under attack."""
import torch
from torch import nn

import marks

STRENGTH, RATE = 8 / 255, 2 / 255
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
judge = nn.CrossEntropyLoss()


def attack(x, y, turns):
    change = torch.zeros_like(x).uniform_(-STRENGTH, STRENGTH)
    for _ in range(turns):
        change.requires_grad_()
        gradient, = torch.autograd.grad(judge(net(x + change), y), change)
        change = (change.detach() + RATE * gradient.sign()).clamp(-STRENGTH, STRENGTH)
        change = (x + change).clamp(0, 1) - x
    return (x + change).detach()


def batch():
    return torch.rand(8, 3, 12, 12).cuda(), torch.zeros(8, dtype=torch.long).cuda()


for epoch in range(4):
    for _ in range(25):
        x, y = batch()
        net.eval()
        attacked = attack(x, y, 7)
        net.train()
        optimizer.zero_grad()
        judge(net(attacked), y).backward()
        optimizer.step()
        marks.step()
    net.eval()
    for _ in range(4):
        x, y = batch()
        attacked = attack(x, y, 10)
        with torch.no_grad():
            (net(attacked).argmax(1) == y).sum().item()
