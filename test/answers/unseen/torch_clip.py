"""Gradient clipping asks whether the norm is finite, inside PyTorch: the line to mend is the one that calls it."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()


def step(_, mended):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=not mended)  # PLANTED
    kit.spin(1200)
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
