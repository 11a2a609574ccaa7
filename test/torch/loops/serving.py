"""Requests to a transformer encoder, one after the other."""
import torch
from torch import nn

import marks

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True),
                              4).cuda().eval()
with torch.inference_mode():
    for request in range(60):
        answer = model(torch.randn(1, 12, 64).cuda()).cpu()
        marks.step()
