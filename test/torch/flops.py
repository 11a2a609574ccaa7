"""Runs Linear, matmul, bmm and addmm, forward and backward, in steps. Prints torch.profiler's
operation counts for one step."""
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

torch.manual_seed(0)
dtype = getattr(torch, sys.argv[2]) if len(sys.argv) > 2 else torch.float32
linear = nn.Linear(96, 160).cuda().to(dtype)
a, b = torch.randn(8, 32, 48).cuda().to(dtype), torch.randn(8, 48, 24).cuda().to(dtype)
c = torch.randn(40, 80).cuda().to(dtype).requires_grad_()


@torch.cuda.nvtx.range("step")
def step():
    x = torch.randn(64, 96).cuda().to(dtype)
    total = (linear(x).sum() + torch.bmm(a, b).sum() + (c @ c.t()).sum()
             + torch.matmul(a, b[0]).sum())
    total.backward()
    return total.item()


for _ in range(int(sys.argv[1])):
    step()
with profile(activities=[ProfilerActivity.CPU], with_flops=True) as p:
    step()
print(sum(e.flops for e in p.key_averages() if e.key in ("aten::mm", "aten::bmm", "aten::addmm")))
