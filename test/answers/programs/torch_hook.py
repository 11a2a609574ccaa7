"""A hook on each gradient reads its norm back, on the thread that runs the backward pass."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()
norms = {}
watching = True


def watch(name):
    def hook(gradient):
        if watching:
            norms[name] = gradient.norm().item()  # PLANTED
    return hook


for name, parameter in model.named_parameters():
    parameter.register_hook(watch(name))


def step(_, fixed):
    global watching
    watching = not fixed
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize)
