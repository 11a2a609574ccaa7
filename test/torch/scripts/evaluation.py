"""Four batches of evaluation after every fifth step; each of them reads its accuracy."""
import torch
from torch import nn

import clock

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(32, 64, device="cuda"), torch.zeros(32, dtype=torch.long, device="cuda")


@torch.no_grad()
def evaluate():
    model.eval()
    right = 0
    for _ in range(4):
        right += (model(x).argmax(1) == y).sum().item()  # PLANTED
    model.train()
    return right


for step in clock.steps(60):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print("right", evaluate())
