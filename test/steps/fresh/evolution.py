# step: loop at line 12; iterations 45; or: loop at line 17; iterations 540
"""Evolution strategies without an optimizer class: a generation evaluates perturbed members."""
import torch


def fitness(weights, x, y):
    hidden = torch.tanh(x @ weights[:256].view(16, 16))
    return -((hidden @ weights[256:].view(16, 1)).squeeze() - y).square().mean()


weights = torch.randn(272).cuda() * 0.1
for generation in range(45):
    x = torch.randn(64, 16).cuda()
    y = x.sum(1).sin()
    noise = torch.randn(12, 272).cuda()
    scores = []
    for member in noise:
        scores.append(fitness(weights + 0.05 * member, x, y).item())
    rank = torch.tensor(scores).cuda()
    rank = (rank - rank.mean()) / (rank.std() + 1e-6)
    weights = weights + 0.02 * (rank @ noise) / len(noise)
