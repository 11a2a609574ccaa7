"""Nothing to fix: large kernels, data on the device, nothing read back."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.Adam(model.parameters())
inputs, targets = torch_kit.batch(), torch_kit.batch()


def step(_, fixed):
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize)
