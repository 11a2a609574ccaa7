"""Greedy decoding with a cache of keys and values. A token is a step; a prompt's first token has no
cache to extend."""
import random

import torch
from torch import nn

import marks

random.seed(4)
WIDTH, WORDS = 64, 100
embedding, head = nn.Embedding(WORDS, WIDTH).cuda(), nn.Linear(WIDTH, WORDS).cuda()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 128), nn.GELU(), nn.Linear(128, WIDTH))

    def forward(self, x, cache):
        q, k, v = self.qkv(x).chunk(3, -1)
        if cache:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        x = x + self.out((q @ k.transpose(1, 2) / 8).softmax(-1) @ v)
        return x + self.mlp(x), (k, v)


blocks = nn.ModuleList(Block() for _ in range(3)).cuda()
with torch.inference_mode():
    for _ in range(10):
        token, caches, text = (torch.randint(0, WORDS, (1, random.randint(5, 40))).cuda(),
                               [None] * 3, [])
        marks.belongs_to_either()
        for _ in range(random.randint(8, 16)):
            x = embedding(token)
            for i, block in enumerate(blocks):
                x, caches[i] = block(x, caches[i])
            token = head(x[:, -1]).argmax(-1, keepdim=True)
            text.append(token.item())
            marks.step()
