"""Whole steps are captured as a CUDA graph and replayed. The batch is first copied to the graph's
input; the loss is read afterwards."""
import torch
from torch import nn

import clock

model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
static_x = torch.randn(32, 64, device="cuda")


def train():
    optimizer.zero_grad(set_to_none=True)
    loss = model(static_x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        train()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = train()
batches = torch.randn(4, 32, 64, device="cuda")
for step in clock.steps(100):
    static_x.copy_(batches[step % 4])
    graph.replay()
    loss.item()  # PLANTED
