"""Each of ten layers reads the largest activation back."""
import torch
from torch import nn

import kit
import torch_kit


class SlowModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(torch_kit.WIDTH, torch_kit.WIDTH) for _ in range(10))
        self.fixed = False
        self.peak = 0.0

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
            if not self.fixed:
                self.peak = max(self.peak, x.max().item())  # PLANTED
        return x


model = SlowModel().to(torch_kit.DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()


def step(_, fixed):
    model.fixed = fixed
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize)
