"""Hamiltonian Monte Carlo. A sample takes ten leapfrog steps, each with a gradient of the
potential, and is accepted or rejected."""
import torch

import marks

data = torch.randn(200, 8).cuda()
labels = (data.sum(1) > 0).float()


def potential(q):
    logits = data @ q
    return (torch.nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
            + 0.5 * q.square().sum())


def gradient(q):
    q = q.detach().requires_grad_()
    value = potential(q)
    return torch.autograd.grad(value, q)[0], value


def leapfrog(q, p, step_size, n):
    grad, _ = gradient(q)
    for _ in range(n):
        p = p - 0.5 * step_size * grad
        q = q + step_size * p
        grad, value = gradient(q)
        p = p - 0.5 * step_size * grad
    return q, p, value


q = torch.zeros(8, device="cuda")
samples = []
for sample in range(120):
    p = torch.randn_like(q)
    energy = potential(q).detach() + 0.5 * p.square().sum()
    new, momentum, value = leapfrog(q, p, 0.05, 4)
    change = energy - value - 0.5 * momentum.square().sum()
    if torch.log(torch.rand(())).item() < change.item():
        q = new.detach()
    samples.append(q)
    marks.step()
