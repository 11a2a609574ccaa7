"""A language model answers requests token by token, from a cache that grows. The host reads each
token.

usage: decode.py REQUESTS"""
import sys

import torch
from torch import nn

WIDTH, LAYERS, TOKENS, PROMPT = 64, 4, 16, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = (nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH),
                                         nn.LayerNorm(WIDTH))

    def forward(self, x, cache):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        if cache:
            k, v = torch.cat((cache[0], k), 1), torch.cat((cache[1], v), 1)
        return x + self.out(nn.functional.scaled_dot_product_attention(q, k, v)), (k, v)


embedding, layers, head = (nn.Embedding(100, WIDTH).cuda(),
                           nn.ModuleList(Layer() for _ in range(LAYERS)).cuda(),
                           nn.Linear(WIDTH, 100).cuda())


@torch.inference_mode()
def decode(prompt):
    caches, tokens, answer = [None] * LAYERS, prompt, []
    for _ in range(TOKENS):
        x = embedding(tokens)
        for i, layer in enumerate(layers):
            x, caches[i] = layer(x, caches[i])
        tokens = head(x[:, -1:]).argmax(-1)
        answer.append(tokens.cpu().tolist())  # PLANTED
    return answer


for _ in range(int(sys.argv[1])):
    decode(torch.zeros(2, PROMPT, dtype=torch.long, device="cuda"))
