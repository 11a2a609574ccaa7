"""A chain of small operators, bound by the host that launches them.

The fixed twin replays the same chain as a CUDA graph.
"""
import torch

import kit
import torch_kit

state = torch.zeros(64, device=torch_kit.DEVICE)
rate = torch.ones(64, device=torch_kit.DEVICE)
graph = torch.cuda.CUDAGraph()


def update():
    for _ in range(30):
        state.mul_(rate)  # PLANTED
        state.add_(rate)  # PLANTED
    state.clamp_(0, 1)


@torch.no_grad()
def step(_, fixed):
    state.zero_()
    if fixed:
        graph.replay()
    else:
        update()
    state.sigmoid_()


update()
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    update()
kit.measure(step, torch.cuda.synchronize)
