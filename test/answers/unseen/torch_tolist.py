"""Six running meters are fetched one by one after the step, before host work that could overlap."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(5)
optimizer = torch.optim.Adam(model.parameters())
inputs, targets = torch_kit.batch(), torch_kit.batch()
meters = {name: torch.zeros(4, device=torch_kit.DEVICE) for name in "abcdef"}
seen = {}


def step(_, fixed):
    torch_kit.train(model, optimizer, inputs, targets)
    if not fixed:
        seen.update({name: meter.tolist() for name, meter in meters.items()})  # PLANTED
    kit.spin(1200)


kit.measure(step, torch.cuda.synchronize)
