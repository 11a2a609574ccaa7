"""A training loop in plain PyTorch: ten Linear(256, 256), Adam, a DataLoader, loss.item() every step.

usage: train.py [STEPS]
"""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
torch.manual_seed(0)
device = torch.device("cuda")
layers = []
for _ in range(10):
    layers += [nn.Linear(256, 256), nn.ReLU()]
model = nn.Sequential(*layers[:-1]).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = TensorDataset(torch.randn(64 * steps, 256), torch.randn(64 * steps, 256))

for step, (inputs, targets) in enumerate(DataLoader(data, batch_size=64)):
    inputs, targets = inputs.to(device), targets.to(device)
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step %d loss %.6f" % (step, loss.item()))
