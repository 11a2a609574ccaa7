"""Gradient clipping checks inside PyTorch whether the norm is finite.

The line to fix is the one that calls it.
"""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()


def step(_, fixed):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=not fixed)  # PLANTED
    kit.spin(1200)
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
