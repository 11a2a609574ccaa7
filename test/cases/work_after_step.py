"""After each step, functions work for 4 ms and wait for 2 ms; the batches are made in 1 ms."""
import time

import torch


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(200))


def bookkeeping(value):
    spin(.004)
    return value


def keep_still():
    time.sleep(.002)


def batches(n):
    for _ in range(n):
        spin(.001)
        yield torch.randn(64, 64)


def main():
    net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(),
                              torch.nn.Linear(256, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1)
    for x in batches(150):
        x = x.cuda()
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bookkeeping(loss.detach())
        keep_still()


if __name__ == "__main__":
    main()
