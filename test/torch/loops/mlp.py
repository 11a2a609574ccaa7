"""Three Linear, Adam, the loss is read every step."""
import torch
from torch import nn

import marks

device = torch.device("cuda")
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                      nn.Linear(128, 10)).to(device)
optimizer = torch.optim.Adam(model.parameters())
total = 0.0
for step in range(60):
    x, y = torch.randn(32, 64).to(device), torch.zeros(32, dtype=torch.long).to(device)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    marks.step()
