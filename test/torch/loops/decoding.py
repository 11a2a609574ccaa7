"""Decoding with a key-value cache, one token a step."""
import torch
from torch import nn

import marks

WIDTH, HEADS, LAYERS, WORDS = 64, 4, 3, 200


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = (nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH),
                                         nn.Linear(WIDTH, WIDTH))
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))
        self.past = None

    def forward(self, x):
        q, k, v = (part.view(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm(x)).chunk(3, -1))
        if self.past is not None:
            k, v = (torch.cat((old, new), 2) for old, new in zip(self.past, (k, v)))
        self.past = k, v
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
                         .reshape(1, -1, WIDTH))
        return x + self.mlp(x)


embed, head = nn.Embedding(WORDS, WIDTH).cuda(), nn.Linear(WIDTH, WORDS).cuda()
layers = nn.Sequential(*[Layer() for _ in range(LAYERS)]).cuda().eval()
with torch.inference_mode():
    token = torch.zeros(1, 5, dtype=torch.long, device="cuda")
    for _ in range(80):
        token = head(layers(embed(token))[:, -1:]).argmax(-1)
        token.item()
        marks.step()
