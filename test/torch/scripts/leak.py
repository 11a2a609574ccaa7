"""The losses of all steps are kept to be summed later. Each keeps its graph, and with it the
activations."""
import torch
from torch import nn

import clock

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(8192, 256, device="cuda")
losses = []
for _ in clock.steps(60, allocated=torch.cuda.memory_allocated):
    out = model(x)  # PLANTED
    losses.append(out.square().mean())  # PLANTED
    optimizer.zero_grad()
    losses[-1].backward(retain_graph=True)
    optimizer.step()
