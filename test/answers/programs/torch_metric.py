"""A metric computed on the CPU between forward and backward, which the GPU has to wait for."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()
scores = []


def metric(i, fixed):
    if not fixed:
        kit.spin(3000)
    scores.append(i)
    del scores[:-1]


def step(i, fixed):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)  # PLANTED
    metric(i, fixed)  # PLANTED
    optimizer.zero_grad()
    loss.backward()  # PLANTED
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
