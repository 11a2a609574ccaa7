"""Trains, with torch.profiler in four windows of three steps; prints what each of its traces holds.

usage: profiler_windows.py STEPS
"""
import collections
import json
import os
import sys
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

steps = int(sys.argv[1])
torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(6)]).cuda()
optimizer = torch.optim.Adam(model.parameters())


def write(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    kinds = collections.Counter(e["cat"] for e in events
                                if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    launches = sum(str(e.get("name")).startswith(("cudaLaunchKernel", "cuLaunchKernel"))
                   for e in events)
    print(f"window at {profiler.step_num}: {dict(sorted(kinds.items()))}, {launches} launches",
          flush=True)


plan = schedule(skip_first=20, wait=steps // 5 - 4, warmup=1, active=3, repeat=4)
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=plan,
             on_trace_ready=write) as profiler:
    for _ in range(steps):
        loss = model(torch.randn(64, 256, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        profiler.step()
