# step: loop at line 50; iterations 100
"""Parallel tempering: Langevin moves with a Metropolis test at five temperatures, then swaps
between neighbours, decided on the host."""
import math
import random

import torch

BETAS = [1.0, 0.6, 0.36, 0.2, 0.1]


def energy(x):
    return ((x ** 2 - 1) ** 2).sum(-1) + 0.1 * torch.sin(3 * x).sum(-1)


def gradient(x):
    x = x.detach().requires_grad_(True)
    u = energy(x)
    return u.detach(), torch.autograd.grad(u.sum(), x)[0]


class Mala:
    def __init__(self, x, beta, eps=0.05):
        self.x, self.beta, self.eps = x, beta, eps

    def log_q(self, to, start, grad):
        return -((to - start + self.eps * self.beta * grad) ** 2).sum(-1) / (4 * self.eps)

    def move(self):
        u, grad = gradient(self.x)
        noise = math.sqrt(2 * self.eps) * torch.randn_like(self.x)
        proposal = self.x - self.eps * self.beta * grad + noise
        u_new, grad_new = gradient(proposal)
        log_a = (-self.beta * (u_new - u) + self.log_q(self.x, proposal, grad_new)
                 - self.log_q(proposal, self.x, grad))
        accept = torch.rand_like(log_a).log() < log_a
        self.x = torch.where(accept.unsqueeze(-1), proposal, self.x)


def swap(chains, first):
    for a, b in zip(chains[first::2], chains[first + 1::2]):
        difference = (energy(a.x) - energy(b.x)).mean().item()
        if not difference < 0 and random.random() < 0.5:
            a.x, b.x = b.x, a.x


def sample(iterations, burn_in=20):
    chains = [Mala(torch.randn(16, 8, device="cuda"), beta) for beta in BETAS]
    samples = []
    for i in range(iterations):
        for chain in chains:
            chain.move()
        swap(chains, i % 2)
        if i >= burn_in and i % 5 == 0:
            samples.append(chains[0].x.cpu())
    return torch.stack(samples)


random.seed(4)
print("samples", tuple(sample(100).shape))
