"""Scores texts of varying length, and keeps every score on the GPU for a metric at the end, until
the GPU is full. No training: the steps end with a read."""
import random

import torch

random.seed(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Embedding(1000, 64), torch.nn.Linear(64, 256), torch.nn.ReLU(),
                          torch.nn.Linear(256, 512)).cuda().eval()
history = []


def remember(scores):
    history.append(scores.half())  # kept


with torch.inference_mode():
    for _ in range(2000):
        tokens = torch.randint(0, 1000, (8, random.randrange(40, 200)), device="cuda")
        scores = net(tokens)  # needs memory
        remember(scores)
        scores.max().item()
