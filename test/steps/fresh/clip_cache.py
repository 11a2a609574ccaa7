# step: loop at line 22; iterations 70
"""Contrastive training of two encoders with a cache of gradients, as GradCache does."""
import torch
from torch import nn

image = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32)).cuda()
text = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 32)).cuda()
optimizer = torch.optim.AdamW([*image.parameters(), *text.parameters()], lr=1e-3)


def encode(model, chunks):
    with torch.no_grad():
        return torch.cat([model(c) for c in chunks])


def backward(model, chunks, grads):
    for chunk, grad in zip(chunks, grads.split(8)):
        surrogate = (model(chunk) * grad).sum()
        surrogate.backward()


for batch in range(70):
    pictures = torch.randn(32, 48).cuda().split(8)
    words = torch.randn(32, 24).cuda().split(8)
    a, b = encode(image, pictures).requires_grad_(), encode(text, words).requires_grad_()
    logits = nn.functional.normalize(a, dim=1) @ nn.functional.normalize(b, dim=1).T
    loss = nn.functional.cross_entropy(logits * 10, torch.arange(32).cuda())
    loss.backward()
    optimizer.zero_grad()
    backward(image, pictures, a.grad)
    backward(text, words, b.grad)
    optimizer.step()
    if batch % 10 == 0:
        print(batch, loss.item())
