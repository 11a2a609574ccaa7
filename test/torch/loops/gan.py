"""Generator and discriminator, an optimizer each; an iteration is a step."""
import torch
from torch import nn

import marks

bce = nn.functional.binary_cross_entropy_with_logits
generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
critic = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(), nn.Linear(64, 1)).cuda()
of_generator = torch.optim.Adam(generator.parameters())
of_critic = torch.optim.Adam(critic.parameters())
ones, zeros = torch.ones(16, 1, device="cuda"), torch.zeros(16, 1, device="cuda")
for iteration in range(60):
    real, noise = torch.randn(16, 32, device="cuda"), torch.randn(16, 16, device="cuda")
    of_critic.zero_grad()
    (bce(critic(real), ones) + bce(critic(generator(noise).detach()), zeros)).backward()
    of_critic.step()
    of_generator.zero_grad()
    bce(critic(generator(noise)), ones).backward()
    of_generator.step()
    marks.step()
