"""A Triton kernel, three launches a step, whose result is read.

usage: triton_add.py STEPS
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


x = torch.ones(1 << 20, device="cuda")
y, out = torch.ones_like(x), torch.empty_like(x)
total = 0.0
for _ in range(int(sys.argv[1])):
    for _ in range(3):
        add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    total += out[0].item()
print("sum", total)
