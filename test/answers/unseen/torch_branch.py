"""A branch on a tensor after each block."""
import torch

import kit
import torch_kit

blocks = torch.nn.ModuleList(torch_kit.mlp(2) for _ in range(5))
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.01)
inputs = torch_kit.batch()
limit = torch.tensor(1e6, device=torch_kit.DEVICE)
exploded = 0


def guard(x):
    global exploded
    if (x.abs() > limit).any():  # PLANTED
        exploded += 1


def step(_, fixed):
    x = inputs
    for block in blocks:
        x = block(x)
        if not fixed:
            guard(x)
    optimizer.zero_grad()
    x.mean().backward()
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
