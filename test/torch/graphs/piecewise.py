"""Piecewise graphs, as inference engines make them: the modules before and after each attention
are captured, the attention runs without a graph.

usage: piecewise.py WAY STEPS      WAY: eager or graph
"""
import sys

import torch
from torch import nn

from capture import captured

WIDTH, LAYERS = 64, 3


class Before(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, x):
        return self.qkv(self.norm(x))


class After(nn.Module):
    def __init__(self):
        super().__init__()
        self.out, self.up, self.down = (nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 256),
                                        nn.Linear(256, WIDTH))

    def forward(self, x, attention):
        x = x + self.out(attention)
        return x + self.down(nn.functional.gelu(self.up(x)))


def attention(qkv):
    q, k, v = qkv.chunk(3, -1)
    return (q @ k.transpose(-1, -2)).softmax(-1) @ v


class Piece:
    """A module with static inputs, and its graph."""

    def __init__(self, module, *inputs):
        self.module, self.inputs = module.cuda().eval(), inputs
        self.graph, self.out = captured(self.forward) if way == "graph" else (None, self.forward())

    def forward(self):
        return self.module(*self.inputs)

    def run(self):
        if self.graph:
            self.graph.replay()
        else:
            self.out.copy_(self.forward())


way, steps = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
batch = torch.randn(4, 16, WIDTH, device="cuda")
layers, x = [], batch
with torch.inference_mode():
    for _ in range(LAYERS):
        before = Piece(Before(), x)
        mixed = torch.empty(4, 16, WIDTH, device="cuda")
        after = Piece(After(), x, mixed)
        layers.append((before, mixed, after))
        x = after.out
    for _ in range(steps):
        for before, mixed, after in layers:
            before.run()
            mixed.copy_(attention(before.out))
            after.run()
        torch.cuda.synchronize()
print("done")
