"""A DataLoader with pinned memory, whose workers are started by fork or by spawn. usage: loader.py
fork|spawn STEPS"""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.full((64,), float(i % 7)), i % 10


def main():
    how, steps = sys.argv[1], int(sys.argv[2])
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(Samples(4 * steps), batch_size=4, num_workers=2,
                        multiprocessing_context=how, pin_memory=True)
    n = 0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x.cuda(non_blocking=True)),
                                           y.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        n += 1
    print(f"{n} steps")


if __name__ == "__main__":
    main()
