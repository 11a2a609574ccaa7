"""Batches in ordinary memory: .to() waits for all that the GPU still has to do. The mended twin's are pinned."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
targets = torch_kit.batch()
ordinary = torch.randn(1024, torch_kit.WIDTH)
pinned = ordinary.pin_memory()


def step(_, mended):
    source = pinned if mended else ordinary
    inputs = source.to(torch_kit.DEVICE, non_blocking=True)[:torch_kit.BATCH]  # PLANTED
    kit.spin(1000)
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize)
