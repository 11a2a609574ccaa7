"""The storage answers late in one of 50 steps, which take most of the run's time."""
import time

import torch

STEPS, EVERY, LATE_S = 200, 50, 0.5


def fetch(step):
    if step % EVERY == EVERY - 1:
        time.sleep(LATE_S)  # GUILTY
    return torch.ones(64, 128)


net = torch.nn.Sequential(*[layer for _ in range(6) for layer in
                            (torch.nn.Linear(128, 128), torch.nn.GELU())]).cuda()
opt = torch.optim.AdamW(net.parameters())
for number in range(STEPS):
    x = fetch(number).cuda()
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
torch.cuda.synchronize()
