"""nonzero() has to tell the host how many there are: a wait in each layer."""
import torch

import kit
import torch_kit

layers = [torch.nn.Linear(torch_kit.WIDTH, torch_kit.WIDTH).to(torch_kit.DEVICE) for _ in range(8)]
inputs = torch_kit.batch()
optimizer = torch.optim.SGD([p for layer in layers for p in layer.parameters()], lr=0.01)
active = []


def count_active(x):
    return x.nonzero()  # PLANTED


def step(_, fixed):
    active.clear()
    x = inputs
    for layer in layers:
        x = torch.relu(layer(x))
        if not fixed:
            active.append(count_active(x))
    optimizer.zero_grad()
    x.mean().backward()
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
