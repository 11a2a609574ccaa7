"""A training loop in plain PyTorch: ten Linear(256, 256), Adam, a DataLoader, loss.item() every
step.

usage: train.py [--steps N] [--nvtx] [--torch-profiler FILE]
       FILE: torch.profiler's own trace of steps 22 to 24

--nvtx: ranges around the forward and the backward pass and the optimizer.
"""
import argparse
import contextlib

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--nvtx", action="store_true")
parser.add_argument("--torch-profiler", metavar="FILE")
args = parser.parse_args()



def marked(name):
    return torch.cuda.nvtx.range(name) if args.nvtx else contextlib.nullcontext()


torch.manual_seed(0)
device = torch.device("cuda")
layers = []
for _ in range(10):
    layers += [nn.Linear(256, 256), nn.ReLU()]
model = nn.Sequential(*layers[:-1]).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = TensorDataset(torch.randn(64 * args.steps, 256), torch.randn(64 * args.steps, 256))
torch_profiler = contextlib.nullcontext()
if args.torch_profiler:
    torch_profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                             schedule=schedule(skip_first=20, wait=0, warmup=2, active=3, repeat=1),
                             on_trace_ready=lambda p: p.export_chrome_trace(args.torch_profiler))

with torch_profiler as profiler:
    for step, (inputs, targets) in enumerate(DataLoader(data, batch_size=64)):
        inputs, targets = inputs.to(device), targets.to(device)
        with marked("forward"):
            loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        with marked("backward"):
            loss.backward()
        with marked("optimizer"):
            optimizer.step()
        print("step %d loss %.6f" % (step, loss.item()))
        if profiler:
            profiler.step()
