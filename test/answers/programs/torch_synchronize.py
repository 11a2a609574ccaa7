"""torch.cuda.synchronize() around each block, left over from timing it."""
import time

import torch

import kit
import torch_kit

blocks = [torch_kit.mlp(2) for _ in range(6)]
head = torch.nn.Linear(torch_kit.WIDTH, 1).to(torch_kit.DEVICE)
inputs = torch_kit.batch()
times = [0.0] * len(blocks)


def timed(i, x, fixed):
    begin = time.perf_counter()
    x = blocks[i](x)
    if not fixed:
        torch.cuda.synchronize()  # PLANTED
    times[i] += time.perf_counter() - begin
    return x


@torch.no_grad()
def step(_, fixed):
    x = inputs
    for i in range(len(blocks)):
        x = timed(i, x, fixed)
    head(x).mean()


kit.measure(step, torch.cuda.synchronize)
