"""A DataLoader with two workers and pinned memory, three epochs with a shorter last batch."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import marks


def main():
    data = TensorDataset(torch.randn(16 * 21 + 5, 64), torch.zeros(16 * 21 + 5, dtype=torch.long))
    loader = DataLoader(data, batch_size=16, shuffle=True, num_workers=2, pin_memory=True,
                        persistent_workers=True)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            marks.step()


if __name__ == "__main__":
    main()
