"""Trains while torch.profiler is switched on and off, as users do. Writes a trace of each of its
windows to FOLDER.

usage: both.py KIND FOLDER       KIND: a name of KINDS
"""
import os
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

STEPS = 60
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    torch.cuda.nvtx.range_push("step")
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.nvtx.range_pop()


def scheduled(folder, **how):
    """Four windows of two steps, each written when it is complete."""
    def write(profiler):
        profiler.export_chrome_trace(os.path.join(folder, f"{profiler.step_num}.json"))
    with profile(schedule=schedule(skip_first=5, wait=6, warmup=1, active=2, repeat=4),
                 on_trace_ready=write, **how) as profiler:
        for _ in range(STEPS):
            step()
            profiler.step()


def by_hand(folder, windows):
    """Starts and stops at these steps, synchronized, so that a window holds exactly its steps'
    kernels."""
    running = None
    for number in range(STEPS):
        for begin, end in windows:
            if number == begin:
                torch.cuda.synchronize()
                running = profile(activities=BOTH)
                running.start()
            if number == end:
                torch.cuda.synchronize()
                running.stop()
                running.export_chrome_trace(os.path.join(folder, f"{begin}.json"))
        step()
    torch.cuda.synchronize()


KINDS = {
    "windows": lambda folder: scheduled(folder, activities=BOTH),
    "cpu_only": lambda folder: scheduled(folder, activities=[ProfilerActivity.CPU]),
    "everything": lambda folder: scheduled(folder, activities=BOTH, with_stack=True,
                                           profile_memory=True, record_shapes=True),
    # profrun records steps 22 to 41
    "before": lambda folder: by_hand(folder, [(8, 12)]),
    "across_the_begin": lambda folder: by_hand(folder, [(15, 28)]),
    "within": lambda folder: by_hand(folder, [(25, 28), (32, 35)]),
    "across_the_end": lambda folder: by_hand(folder, [(36, 48)]),
    "around": lambda folder: by_hand(folder, [(15, 50)]),
    "after": lambda folder: by_hand(folder, [(46, 50)]),
}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2])
