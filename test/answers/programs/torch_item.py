"""loss.item() in each step, for a running mean, before host work that could overlap the GPU's."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()
total = 0.0


def step(_, fixed):
    global total
    loss = torch_kit.train(model, optimizer, inputs, targets)
    if not fixed:
        total += loss.item()  # PLANTED
    kit.spin(1000)


kit.measure(step, torch.cuda.synchronize)
