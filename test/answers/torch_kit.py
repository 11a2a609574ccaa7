"""For the suite's programs in PyTorch: a small model and its training step.

Kernels take PROFSIM_KERNEL_US on the simulated GPU; on a real one WIDTH makes them long enough.
"""
import os

import torch
from torch import nn

WIDTH = int(os.environ.get("WIDTH", "256"))
BATCH = 64
DEVICE = torch.device("cuda")

torch.manual_seed(0)


def mlp(layers):
    parts = [part for _ in range(layers) for part in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(*parts[:-1]).to(DEVICE)


def batch():
    return torch.randn(BATCH, WIDTH, device=DEVICE)


def train(model, optimizer, inputs, targets):
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
