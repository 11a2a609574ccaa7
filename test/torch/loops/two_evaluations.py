"""After each step one function evaluates the model twice, on two parts of the data. Their ends look
alike, and so do the model's layers."""
import torch
from torch import nn

import marks


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(64, 64), nn.Linear(64, 64)

    def forward(self, x):
        return self.outer(torch.relu(self.inner(x)))


model = nn.Sequential(Block(), Block(), nn.Dropout(0.1), Block()).cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(64, 64, device="cuda")


def evaluate():
    model.eval()
    with torch.no_grad():
        out = model(x)
        loss, right = out.square().mean(), (out.argmax(1) == 0).float().mean()
    return loss.item(), right.item()


for step in range(60):
    model.train()
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    marks.step()
    evaluate()
    evaluate()
    marks.belongs_to_either()
