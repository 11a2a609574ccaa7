"""Batches are as long as their longest text. Outputs of each are kept for a metric at the end of
the epoch, until the device is full.
"""
import random

import torch

random.seed(5)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 128),
                          torch.nn.GELU(), torch.nn.Linear(128, 512)).cuda()
opt = torch.optim.AdamW(net.parameters())
outputs = []


class Metric:
    def update(self, logits):
        outputs.append(logits.detach().float().clone())  # GUILTY


metric = Metric()
for step in range(200):
    x = torch.randn(8, random.randrange(64, 320), 128, device="cuda")
    logits = net(x)
    loss = logits.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    metric.update(logits)
torch.cuda.synchronize()
print("kept", len(outputs))
