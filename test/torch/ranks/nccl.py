"""DDP on two or more ranks, as torchrun starts them: an MLP whose gradients NCCL sums.

usage: nccl.py [--steps N] [--sleep RANK MS]"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--sleep", type=int, nargs=2, default=(-1, 0), metavar=("RANK", "MS"))
args = parser.parse_args()

dist.init_process_group("nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(0)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                      nn.Linear(256, 10)).cuda()
model = nn.parallel.DistributedDataParallel(model, device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(args.steps):
    if rank == args.sleep[0]:
        time.sleep(args.sleep[1] / 1e3)
    inputs = torch.randn(64, 256).cuda()
    loss = model(inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
gathered = [torch.zeros(1, dtype=torch.int64, device="cuda") for _ in range(ranks)]
dist.all_gather(gathered, torch.tensor([rank + 7]).cuda())
# One write, so that the ranks' lines do not mix.
os.write(1, (f"rank {rank} of {ranks}: {args.steps} steps, "
             f"gathered {[int(t.item()) for t in gathered]}\n").encode())
dist.destroy_process_group()
