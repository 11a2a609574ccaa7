"""A DataLoader without workers decodes each sample slowly.

The fixed twin's samples are already decoded.
"""
import torch
from torch.utils.data import DataLoader, Dataset

import kit
import torch_kit


class Images(Dataset):
    def __init__(self, decoded):
        self.decoded = decoded
        self.sample = torch.randn(torch_kit.WIDTH)

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        if not self.decoded:
            kit.spin(250)
        return self.sample


class Decoded:
    """Gives the same as the loader, without its work."""
    def __init__(self):
        self.batch = torch.randn(16, torch_kit.WIDTH)

    def __next__(self):
        return self.batch


model = torch_kit.mlp(4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
targets = torch.randn(16, torch_kit.WIDTH, device=torch_kit.DEVICE)
loader, decoded = iter(DataLoader(Images(False), batch_size=16)), Decoded()


def step(_, fixed):
    inputs = next(decoded if fixed else loader)  # PLANTED
    inputs = inputs.to(torch_kit.DEVICE, non_blocking=True)  # PLANTED
    torch_kit.train(model, optimizer, inputs, targets)


kit.measure(step, torch.cuda.synchronize)
