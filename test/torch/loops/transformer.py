"""A transformer encoder under autocast with a GradScaler, clipped gradients, fused AdamW."""
import torch
from torch import nn

import marks

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 3).cuda()
head = nn.Linear(64, 10).cuda()
parameters = [*model.parameters(), *head.parameters()]
optimizer = torch.optim.AdamW(parameters, fused=True)
scaler = torch.amp.GradScaler()
for step in range(50):
    with torch.autocast("cuda"):
        loss = head(model(torch.randn(4, 16, 64, device="cuda"))).float().square().mean()
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(parameters, 1.0)
    scaler.step(optimizer)
    scaler.update()
    marks.step()
