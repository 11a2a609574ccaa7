"""A small CNN; a worker process reads images slowly, so that each step waits for its batch."""
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import clock

STEPS = 50


class Images(Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, i):
        time.sleep(0.008)
        return torch.full((3, 16, 16), float(i)), i % 10


def main():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                          nn.Linear(8 * 256, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = iter(DataLoader(Images(), batch_size=4, num_workers=1, pin_memory=True))
    for _ in clock.steps(STEPS):
        images, labels = next(loader)  # PLANTED
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)  # PLANTED
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
