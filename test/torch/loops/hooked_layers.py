"""Embeds batches. A hook on each layer reads whether its output is finite: a read within the model
ends no step."""
import torch
from torch import nn

import marks


def check(module, _args, out):
    if torch.isnan(out).any():
        raise FloatingPointError(module)


layers = [nn.TransformerEncoderLayer(64, 4, 128, batch_first=True) for _ in range(6)]
for layer in layers:
    layer.register_forward_hook(check)
model = nn.Sequential(*layers, nn.LayerNorm(64)).cuda().eval()
found = []
with torch.inference_mode():
    for batch in torch.randn(120, 8, 12, 64):
        found.append(nn.functional.normalize(model(batch.cuda()).mean(1), dim=-1).cpu())
        marks.step()
