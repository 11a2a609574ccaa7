"""Host work between the backward pass and the optimizer, which has nothing to do with either."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(4)
optimizer = torch.optim.AdamW(model.parameters())
inputs, targets = torch_kit.batch(), torch_kit.batch()
history = []


def plot(fixed):
    if not fixed:
        kit.spin(3000)
    history[:] = [fixed]


def step(_, fixed):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()  # PLANTED
    plot(fixed)  # PLANTED
    optimizer.step()  # PLANTED


kit.measure(step, torch.cuda.synchronize)
