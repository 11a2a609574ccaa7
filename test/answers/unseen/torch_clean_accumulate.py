"""Nothing to fix: four micro-batches a step, large kernels, one loss fetched without waiting."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(3)
optimizer = torch.optim.AdamW(model.parameters())
inputs, targets = torch_kit.batch(), torch_kit.batch()
host = torch.zeros(()).pin_memory()


def step(_, fixed):
    optimizer.zero_grad()
    for _ in range(4):
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
    optimizer.step()
    host.copy_(loss.detach(), non_blocking=True)


kit.measure(step, torch.cuda.synchronize)
