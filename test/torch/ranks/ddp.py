"""PyTorch's DDP example, for torchrun. Every rank trains on its part of the data; one of them has
slow input.

usage: ddp.py STEPS [SLOW-RANK]
"""
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

steps, slow = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else -1


class Samples(Dataset):
    def __len__(self):
        return 4 * steps * dist.get_world_size()

    def __getitem__(self, i):
        if dist.get_rank() == slow:
            time.sleep(0.005)
        return torch.full((64,), float(i % 7)), i % 10


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(),
                                                  nn.Linear(64, 10)).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = Samples()
    n = 0
    for x, y in DataLoader(data, batch_size=4, sampler=DistributedSampler(data)):
        loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        n += 1
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {n} steps", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
