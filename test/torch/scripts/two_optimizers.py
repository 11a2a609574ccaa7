"""Generator and critic, with an optimizer each. The critic's output is read for a log in every
step."""
import torch
from torch import nn

import clock

bce = nn.functional.binary_cross_entropy_with_logits
generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
critic = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(), nn.Linear(64, 1)).cuda()
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_critic = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
real = torch.randn(16, 32, device="cuda")
ones, zeros = torch.ones(16, 1, device="cuda"), torch.zeros(16, 1, device="cuda")
for _ in clock.steps(60):
    fake = generator(torch.randn(16, 16, device="cuda"))
    of_critic.zero_grad()
    loss = bce(critic(real), ones) + bce(critic(fake.detach()), zeros)
    loss.backward()
    of_critic.step()
    of_generator.zero_grad()
    bce(critic(fake), ones).backward()
    of_generator.step()
    loss.item()  # PLANTED
