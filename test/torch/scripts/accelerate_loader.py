"""A small network under accelerate, whose loader copies a batch, then waits for the next one before
it returns the first."""
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

import clock

STEPS = 60


class Rows(Dataset):
    def __len__(self):
        return 8 * STEPS

    def __getitem__(self, i):
        time.sleep(0.001)
        return torch.full((64,), float(i)), i % 4


def main():
    accelerator = Accelerator()
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(8)],
                          nn.Linear(64, 4))
    model, optimizer, loader = accelerator.prepare(model, torch.optim.Adam(model.parameters()),
                                                   DataLoader(Rows(), batch_size=8))
    batches = iter(loader)
    for _ in clock.steps(STEPS):
        rows, labels = next(batches)  # PLANTED
        loss = nn.functional.cross_entropy(model(rows), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
