"""torch.cuda.empty_cache() at the end of each step.

Memory is returned to the driver, which waits, and allocated again.
"""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = (torch.randn(20000, torch_kit.WIDTH, device=torch_kit.DEVICE) for _ in range(2))


def step(_, fixed):
    torch_kit.train(model, optimizer, inputs, targets)
    if not fixed:
        torch.cuda.empty_cache()  # PLANTED
    kit.spin(800)


kit.measure(step, torch.cuda.synchronize)
