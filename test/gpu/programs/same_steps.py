"""Trains a network whose products take the GPU some time, and reads the loss in each step.

usage: same_steps.py STEPS SKIPPED SEEN [FILE]
       FILE: torch.profiler's own trace of the SEEN steps after the SKIPPED ones
"""
import contextlib
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

WIDTH, BATCH = 1024, 1024
steps, skipped, seen = (int(text) for text in sys.argv[1:4])
torch.manual_seed(0)
model = nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU())
                        for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
inputs = torch.randn(BATCH, WIDTH, device="cuda")
profiler = contextlib.nullcontext()
if len(sys.argv) > 4:
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                       schedule=schedule(skip_first=skipped, wait=0, warmup=2, active=seen,
                                         repeat=1),
                       on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[4]))
with profiler as running:
    for _ in range(steps):
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        if running:
            running.step()
print("trained", steps)
