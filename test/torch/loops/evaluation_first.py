"""A model is evaluated for long before its training begins. Each batch looks much like the first
half of a step."""
import torch
from torch import nn

import marks

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                      nn.Linear(128, 10)).cuda()


@torch.no_grad()
def evaluate(batches):
    model.eval()
    right = sum((model(torch.randn(32, 64).cuda()).argmax(1) == 0).sum().item()
                for _ in range(batches))
    model.train()
    return right


evaluate(200)
marks.setup_done()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(150):
    inputs, labels = torch.randn(32, 64).cuda(), torch.randint(10, (32,)).cuda()
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    marks.step()
