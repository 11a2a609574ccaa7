"""Batches in pageable memory: .to() waits for all work of the GPU. The fixed twin's are pinned."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
targets = torch_kit.batch()
ordinary = torch.randn(1024, torch_kit.WIDTH)
pinned = ordinary.pin_memory()


def step(_, fixed):
    source = pinned if fixed else ordinary
    inputs = source.to(torch_kit.DEVICE, non_blocking=True)[:torch_kit.BATCH]  # PLANTED
    kit.spin(1000)
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize)
