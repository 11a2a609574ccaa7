"""Every second step the loss is formatted for a log line.

The GPU then idles while the host prepares the next step.
"""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()
lines = []


def step(i, fixed):
    kit.spin(1800)
    loss = torch_kit.train(model, optimizer, inputs, targets)
    if i % 2 == 0 and not fixed:
        lines.append(f"step {i} loss {loss:.4f}")  # PLANTED


kit.measure(step, torch.cuda.synchronize)
