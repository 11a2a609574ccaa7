"""torch.compile of a small transformer: attention by scaled_dot_product_attention, bfloat16
autocast, AdamW.

usage: compiled.py STEPS [MODE]      MODE: torch.compile's; eager: not compiled
"""
import sys

import torch
from torch import nn

WIDTH, HEADS, LENGTH, BATCH = 256, 8, 128, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = (self.qkv(self.before(x)).view(*x.shape[:2], 3, HEADS, WIDTH // HEADS)
                   .permute(2, 0, 3, 1, 4))
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.between(x))


torch.manual_seed(0)
mode = sys.argv[2] if len(sys.argv) > 2 else "default"
plain = nn.Sequential(*[Block() for _ in range(3)]).cuda()
model = plain if mode == "eager" else torch.compile(plain, mode=mode)
optimizer = torch.optim.AdamW(plain.parameters(), lr=1e-4)
for step in range(int(sys.argv[1])):
    x = torch.randn(BATCH, LENGTH, WIDTH, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.item():.3f}")
