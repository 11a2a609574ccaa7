# step: loop at line 60; iterations 60
"""CycleGAN: two generators, two discriminators, three optimizers, buffers of earlier fakes."""
import itertools
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return {"A": torch.randn(3, 16, 16), "B": torch.randn(3, 16, 16)}


class ReplayBuffer:
    def __init__(self, size=12):
        self.size, self.images = size, []

    def push_and_pop(self, batch):
        out = []
        for image in batch.detach():
            image = image.unsqueeze(0)
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif random.random() > 0.5:
                at = random.randrange(self.size)
                out.append(self.images[at].clone())
                self.images[at] = image
            else:
                out.append(image)
        return torch.cat(out)


def generator():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 3, 3, padding=1), nn.Tanh()).cuda()


def discriminator():
    return nn.Sequential(nn.Conv2d(3, 8, 4, stride=2, padding=1), nn.LeakyReLU(0.2),
                         nn.Conv2d(8, 1, 4, stride=2, padding=1)).cuda()


random.seed(0)
g_ab, g_ba, d_a, d_b = generator(), generator(), discriminator(), discriminator()
opt_g = torch.optim.Adam(itertools.chain(g_ab.parameters(), g_ba.parameters()), lr=2e-4)
opt_d_a = torch.optim.Adam(d_a.parameters(), lr=2e-4)
opt_d_b = torch.optim.Adam(d_b.parameters(), lr=2e-4)
schedules = [torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 - epoch / 10)
             for o in (opt_g, opt_d_a, opt_d_b)]
gan, l1 = nn.MSELoss(), nn.L1Loss()
old_a, old_b = ReplayBuffer(), ReplayBuffer()
loader = DataLoader(Pairs(), batch_size=2, shuffle=True)
for epoch in range(3):
    for i, batch in enumerate(loader):
        real_a, real_b = batch["A"].cuda(), batch["B"].cuda()
        valid = torch.ones(real_a.size(0), 1, 4, 4, device="cuda")
        wrong = torch.zeros(real_a.size(0), 1, 4, 4, device="cuda")

        opt_g.zero_grad()
        identity = (l1(g_ba(real_a), real_a) + l1(g_ab(real_b), real_b)) / 2
        fake_b, fake_a = g_ab(real_a), g_ba(real_b)
        adversarial = (gan(d_b(fake_b), valid) + gan(d_a(fake_a), valid)) / 2
        cycle = (l1(g_ba(fake_b), real_a) + l1(g_ab(fake_a), real_b)) / 2
        (adversarial + 10 * cycle + 5 * identity).backward()
        opt_g.step()

        for optimizer, judge, real, old, fake in ((opt_d_a, d_a, real_a, old_a, fake_a),
                                                  (opt_d_b, d_b, real_b, old_b, fake_b)):
            optimizer.zero_grad()
            earlier = old.push_and_pop(fake)
            loss = (gan(judge(real), valid) + gan(judge(earlier.detach()), wrong)) / 2
            loss.backward()
            optimizer.step()
        line = f"epoch {epoch} batch {i} {type(loss.item()).__name__}"
    for schedule in schedules:
        schedule.step()
print(line)
