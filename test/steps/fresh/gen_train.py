# step: loop at line 16; iterations 240; or: loop at line 26; iterations 240
# Training as a generator, whose losses a progress bar consumes.
import itertools

import torch
from torch import nn
from tqdm import tqdm

model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(256, 256), nn.ReLU())]).cuda()
opt = torch.optim.SGD(model.parameters(), 0.01)
pool = [torch.randn(64, 256, device="cuda") for _ in range(16)]


def training(batches, limit):
    """Yields the loss of each step."""
    for x in itertools.islice(itertools.cycle(batches), limit):
        opt.zero_grad()
        loss = (model(x) - x).pow(2).mean()
        loss.backward()
        opt.step()
        yield loss.detach()


bar = tqdm(training(pool, 240), total=240, disable=None)
losses = []
for i, loss in enumerate(bar):
    losses.append(loss)
    if i % 40 == 39:
        bar.set_postfix(loss=torch.stack(losses).mean().item())
        losses.clear()
print("end")
