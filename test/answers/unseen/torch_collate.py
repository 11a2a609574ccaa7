"""A slow collate_fn in a DataLoader without workers."""
import torch
from torch.utils.data import DataLoader

import kit
import torch_kit

batch = torch.randn(32, torch_kit.WIDTH)
is_slow = True


def collate(samples):
    if is_slow:
        kit.spin(3000)
    return batch


model = torch_kit.mlp(4)
optimizer = torch.optim.AdamW(model.parameters())
targets = torch.randn(32, torch_kit.WIDTH, device=torch_kit.DEVICE)
loader = iter(DataLoader(range(1 << 20), batch_size=32, collate_fn=collate))


def start(fixed):
    global is_slow
    is_slow = not fixed


def step(_, fixed):
    inputs = next(loader).to(torch_kit.DEVICE, non_blocking=True)  # PLANTED
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize, start)
