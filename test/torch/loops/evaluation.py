"""Seven evaluation batches after every five steps."""
import torch
from torch import nn

import marks

model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1),
                      nn.Linear(64, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())


def evaluate():
    model.eval()
    with torch.no_grad():
        right = sum(model(torch.randn(64, 64, device="cuda")).argmax(1).sum().item()
                    for _ in range(7))
    model.train()
    return right


for step in range(60):
    loss = model(torch.randn(16, 64, device="cuda")).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    marks.step()
    if step % 5 == 4:
        evaluate()
        marks.belongs_to_either()
