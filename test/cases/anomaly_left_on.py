"""Anomaly detection was switched on to find a bug, and left on: it looks for NaN in the gradients
of each backward node.
"""
import os

import torch

if not os.environ.get("FIXED"):
    torch.autograd.set_detect_anomaly(True)
torch.manual_seed(0)
net = torch.nn.Sequential(*[m for _ in range(8)
                            for m in (torch.nn.Linear(64, 64), torch.nn.ReLU())]).cuda()
opt = torch.optim.Adam(net.parameters())
for step in range(150):
    x = torch.randn(32, 64, device="cuda")
    loss = (net(x) - x).square().mean()
    opt.zero_grad()
    loss.backward()  # GUILTY
    opt.step()
torch.cuda.synchronize()
print("trained")
