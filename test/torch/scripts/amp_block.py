"""A transformer block under autocast with a GradScaler, whose step reads back whether the gradients
were finite."""
import torch
from torch import nn

import clock

block = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).cuda()
optimizer = torch.optim.AdamW(block.parameters())
scaler = torch.amp.GradScaler("cuda")
for _ in clock.steps(50):
    x = torch.randn(4, 16, 64, device="cuda")
    with torch.autocast("cuda"):
        loss = block(x).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # PLANTED
    scaler.update()
