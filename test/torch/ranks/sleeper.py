"""DDP over Gloo in which rank 1 is late in each step. The others wait for it in the middle of
theirs, in the backward pass.

usage: sleeper.py STEPS
"""
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 256), nn.ReLU(),
                                              nn.Linear(256, 10)).cuda())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(int(sys.argv[1])):
    if dist.get_rank() == 1:
        time.sleep(0.005)
    batch = torch.randn(32, 64).cuda()
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
dist.destroy_process_group()
