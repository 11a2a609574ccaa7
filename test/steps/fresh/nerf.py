# step: loop at line 26; iterations 160
"""Trains a radiance field. After each 40 steps, a picture is rendered in chunks (nerf-pytorch)."""
import torch
from torch import nn

field = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                      nn.Linear(64, 4)).cuda()
optimizer = torch.optim.Adam(field.parameters(), lr=5e-4)


def render(rays, samples=8):
    depth = torch.linspace(0.1, 2, samples).cuda()
    points = rays[:, None, :3] + rays[:, None, 3:] * depth[:, None]
    raw = field(torch.cat([points, rays[:, None, 3:].expand_as(points)], -1))
    alpha = 1 - torch.exp(-torch.relu(raw[..., 3]))
    through = torch.cumprod(1 - alpha + 1e-9, 1)
    return ((alpha * through)[..., None] * torch.sigmoid(raw[..., :3])).sum(1)


def picture(n):
    with torch.no_grad():
        return torch.cat([render(chunk).cpu() for chunk in torch.randn(n, 64, 6).cuda()])


i = 0
while i < 160:
    rays, colours = torch.randn(128, 6).cuda(), torch.rand(128, 3).cuda()
    loss = (render(rays) - colours).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for group in optimizer.param_groups:
        group["lr"] = 5e-4 * 0.1 ** (i / 1000)
    if i % 40 == 39:
        picture(20)
    i += 1
