"""A loop like nanoGPT's under DDP, for torchrun. First the loss is estimated over many batches, by
all ranks or by rank 0 alone; during that time only forward passes are seen. Then it trains, with
two micro-batches per step.

usage: evaluates.py all|first BATCHES STEPS MARKS
Each rank writes to MARKS.<rank> when its steps began, one line each (CLOCK_MONOTONIC, ns).
"""
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

who, batches, steps, marks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def batch():
    return torch.randn(16, 64).cuda(), torch.randn(16, 64).cuda()


@torch.no_grad()
def estimate(model):
    total = 0.0
    for _ in range(batches):
        x, y = batch()
        total += nn.functional.mse_loss(model(x), y).item()
    return total / batches


def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    rank = dist.get_rank()
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(6)]).cuda()
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=1e-3)
    if who == "all" or rank == 0:
        estimate(model)
    with open(f"{marks}.{rank}", "w") as file:
        for _ in range(steps):
            print(time.monotonic_ns(), file=file)
            for micro in range(2):
                parallel.require_backward_grad_sync = micro == 1
                x, y = batch()
                (nn.functional.mse_loss(parallel(x), y) / 2).backward()
            torch.nn.utils.clip_grad_norm_(parallel.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    dist.destroy_process_group()


main()
