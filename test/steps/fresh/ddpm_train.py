# step: loop at line 75; iterations 100
"""Diffusion training: a Trainer class with an endless loader, an EMA of the weights, and samples
every 40 steps."""
import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def cycle(loader):
    while True:
        for data in loader:
            yield data[0]


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(50, 8)
        self.down, self.mid = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.up = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, x, t):
        h = F.silu(self.down(x))
        m = F.silu(self.mid(h) + self.time(t)[:, :, None, None])
        return self.up(torch.cat([h, m], dim=1))


class GaussianDiffusion(nn.Module):
    def __init__(self, model, timesteps=50):
        super().__init__()
        self.model, self.timesteps = model, timesteps
        self.register_buffer("alphas", torch.cumprod(torch.linspace(0.999, 0.95, timesteps), 0))

    def forward(self, x):
        t = torch.randint(0, self.timesteps, (x.size(0),), device=x.device)
        noise = torch.randn_like(x)
        a = self.alphas[t].view(-1, 1, 1, 1)
        return F.mse_loss(self.model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)

    @torch.inference_mode()
    def sample(self, count=4):
        x = torch.randn(count, 1, 8, 8, device="cuda")
        for t in reversed(range(0, self.timesteps, 2)):
            at = torch.full((count,), t, device="cuda", dtype=torch.long)
            noise = self.model(x, at)
            x = (x - 0.05 * noise) / 0.97
            if t > 0:
                x = x + 0.05 * torch.randn_like(x)
        return x.clamp(-1, 1)


class EMA:
    def __init__(self, model, beta=0.995, every=10):
        self.model, self.beta, self.every, self.step = copy.deepcopy(model), beta, every, 0

    @torch.no_grad()
    def update(self, model):
        self.step += 1
        if self.step % self.every == 0:
            for kept, new in zip(self.model.parameters(), model.parameters()):
                kept.lerp_(new, 1 - self.beta)


class Trainer:
    def __init__(self, diffusion, train_num_steps):
        self.model, self.train_num_steps, self.step = diffusion, train_num_steps, 0
        self.dl = cycle(DataLoader(TensorDataset(torch.randn(200, 1, 8, 8)), 16, shuffle=True))
        self.opt = torch.optim.Adam(diffusion.parameters(), lr=8e-5, betas=(0.9, 0.99))
        self.ema = EMA(diffusion)

    def train(self):
        while self.step < self.train_num_steps:
            data = next(self.dl).to("cuda")
            loss = self.model(data)
            total_loss = loss.item()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            self.opt.zero_grad()
            self.step += 1
            self.ema.update(self.model)
            if self.step % 40 == 0:
                self.ema.model.sample().cpu()
        return total_loss


trainer = Trainer(GaussianDiffusion(Unet()).cuda(), 100)
trainer.train()
print("steps", trainer.step)
