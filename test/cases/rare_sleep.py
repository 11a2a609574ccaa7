"""The storage answers late in one of 50 steps, which take most of the run's time."""
import time

import torch

# A late answer takes as long as this many steps have taken so far, however busy the machine is.
STEPS, EVERY, LATE_STEPS = 200, 50, 60
spent_s = []


def fetch(step):
    if step % EVERY == EVERY - 1:
        time.sleep(max(0.3, LATE_STEPS * sum(spent_s[5:]) / len(spent_s[5:])))  # GUILTY
    return torch.ones(64, 128)


net = torch.nn.Sequential(*[layer for _ in range(6) for layer in
                            (torch.nn.Linear(128, 128), torch.nn.GELU())]).cuda()
opt = torch.optim.AdamW(net.parameters())
for number in range(STEPS):
    x = fetch(number).cuda()
    begin = time.perf_counter()
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    spent_s.append(time.perf_counter() - begin)
torch.cuda.synchronize()
