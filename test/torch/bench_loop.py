"""The launch-bound loop that costs are measured on: ten Linear(256, 256), Adam, .item() each step.
Writes as JSON: each step's milliseconds; how long torch.profiler's starts and stops took, which are
in no step; and the bytes of its first trace, plain and gzipped.

usage: [BENCH_LOADER=1] bench_loop.py STEPS FILE [SWITCH SKIP BLOCK [WINDOWS]]
       BENCH_LOADER: each step has a batch from a DataLoader, copied to the device, as in train.py
       SWITCH is on for every other BLOCK of steps after SKIP, at most WINDOWS times: a library
       (cupti_alone.c, unhooked.c), or torch.profiler with what it should record:
       torch.profiler:cpu, torch.profiler:cpu+cuda+stack+shapes+memory
"""
import ctypes
import gzip
import json
import os
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

steps = int(sys.argv[1])
torch.manual_seed(0)
layers = []
for _ in range(10):
    layers += [nn.Linear(256, 256), nn.ReLU()]
model = nn.Sequential(*layers[:-1]).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
inputs, targets = torch.randn(64, 256, device="cuda"), torch.randn(64, 256, device="cuda")
times_ms = []


def batches():
    while True:
        if "BENCH_LOADER" not in os.environ:
            yield inputs, targets
        else:
            data = TensorDataset(torch.randn(64 * 100, 256), torch.randn(64 * 100, 256))
            yield from ((x.cuda(), y.cuda()) for x, y in DataLoader(data, batch_size=64))


def torch_profiler(wanted):
    activities = {"cpu": torch.profiler.ProfilerActivity.CPU,
                  "cuda": torch.profiler.ProfilerActivity.CUDA}
    profiler = []

    def turn(on):
        if on:
            profiler.append(torch.profiler.profile(
                activities=[activities[name] for name in wanted if name in activities],
                with_stack="stack" in wanted,
                record_shapes="shapes" in wanted, profile_memory="memory" in wanted))
            began = time.perf_counter()
            profiler[0].start()
            starts_ms.append((time.perf_counter() - began) * 1e3)
        elif profiler:
            began = time.perf_counter()
            profiler[0].stop()
            stops_ms.append((time.perf_counter() - began) * 1e3)
            if len(stops_ms) == 1:
                profiler[0].export_chrome_trace(trace)
                with open(trace, "rb") as written:
                    text = written.read()
                trace_bytes.extend((len(text), len(gzip.compress(text, 1))))
                os.unlink(trace)
            profiler.clear()
    return turn


def switch_of(name):
    kind, _, wanted = name.partition(":")
    return (torch_profiler(wanted.split("+")) if kind == "torch.profiler"
            else ctypes.CDLL(name).bench_switch)


trace, starts_ms, stops_ms, trace_bytes = sys.argv[2] + ".json", [], [], []
switch = switch_of(sys.argv[3]) if len(sys.argv) > 3 else None
skip, block = (int(text) for text in sys.argv[4:6]) if switch else (0, 0)
most = int(sys.argv[6]) if len(sys.argv) > 6 else steps
batch = batches()
for step in range(steps):
    if (switch and step >= skip and (step - skip) % block == 0
            and (step - skip) // block <= 2 * most):
        # Otherwise blocks would be made unseen and freed seen, or the reverse, and profrun would
        # search for them in vain.
        optimizer.zero_grad()
        loss = None
        if switch((step - skip) // block % 2):
            sys.exit("bench_loop: CUPTI refuses, or there is nothing to switch")
    began = time.perf_counter()
    x, y = next(batch)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
    times_ms.append((time.perf_counter() - began) * 1e3)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump({"steps_ms": times_ms, "starts_ms": starts_ms, "stops_ms": stops_ms,
               "trace_bytes": trace_bytes}, file)
