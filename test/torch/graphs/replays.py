"""A model is warmed up for long, captured and replayed, without anything else in the loop.

usage: replays.py REPLAYS
"""
import sys

import torch
from torch import nn

replays = int(sys.argv[1])
model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(6)]).cuda().eval().requires_grad_(False)
x = torch.zeros(8, 64, device="cuda")
for _ in range(25):
    model(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = model(x)
for _ in range(replays):
    graph.replay()
torch.cuda.synchronize()
print("done")
