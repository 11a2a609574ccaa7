"""10 ms of Python in a function after loss.item(), and a DataLoader. Prints how many ms of a step
each of the two took, by the program's own clock, as JSON.

usage: host_work.py STEPS WORKERS
"""
import json
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

STEPS, WORKERS = int(sys.argv[1]), int(sys.argv[2])
BATCH = 16


class Samples(Dataset):
    """Takes 0.25 ms per sample."""

    def __len__(self):
        return BATCH * STEPS

    def __getitem__(self, index):
        end = time.perf_counter() + 0.00025
        while time.perf_counter() < end:
            pass
        return torch.full((64,), float(index)), index % 10


def log_metrics(value):
    end = time.perf_counter() + 0.010
    while time.perf_counter() < end:
        sum(range(1000))
    return value


model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
took_s = {"load": [], "log": [], "step": []}
batches = iter(DataLoader(Samples(), BATCH, num_workers=WORKERS))
begin = time.perf_counter()
for _ in range(STEPS):
    x, y = next(batches)
    took_s["load"].append(time.perf_counter() - begin)
    x, y = x.cuda(), y.cuda()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    value = loss.item()
    logged = time.perf_counter()
    log_metrics(value)
    took_s["log"].append(time.perf_counter() - logged)
    took_s["step"].append(time.perf_counter() - begin)
    begin = time.perf_counter()
print(json.dumps({name: [1e3 * s for s in times] for name, times in took_s.items()}))
