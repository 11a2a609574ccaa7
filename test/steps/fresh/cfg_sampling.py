# step: loop at line 53; iterations 360; or: loop at line 65; iterations 24
"""Diffusion sampling with classifier-free guidance: a pipeline is called per prompt, and denoises
in fifteen steps."""
import torch
from torch import nn
from torch.nn import functional as F


class TextEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.mix = nn.Embedding(100, 32), nn.Linear(32, 32)

    def forward(self, ids):
        return self.mix(self.embed(ids))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Conv2d(4, 32, 3, padding=1), nn.Conv2d(32, 4, 3, padding=1)
        self.q, self.kv, self.time = nn.Linear(32, 32), nn.Linear(32, 64), nn.Linear(1, 32)

    def forward(self, x, t, context):
        h = F.silu(self.inp(x)) + self.time(t.view(-1, 1))[:, :, None, None]
        b, c, height, width = h.shape
        tokens = h.flatten(2).transpose(1, 2)
        k, v = self.kv(context).chunk(2, dim=-1)
        tokens = tokens + F.scaled_dot_product_attention(self.q(tokens), k, v)
        return self.out(tokens.transpose(1, 2).reshape(b, c, height, width))


class DDIM:
    def __init__(self, steps):
        self.timesteps = torch.linspace(1, 0.02, steps).tolist()

    def step(self, noise, t, x):
        x0 = (x - (1 - t) * noise) / max(t, 0.1)
        return 0.9 * x0 + 0.1 * noise


class Pipeline:
    def __init__(self, steps=15):
        self.text, self.unet, self.steps = TextEncoder().cuda(), Unet().cuda(), steps
        self.decoder = nn.ConvTranspose2d(4, 3, 2, stride=2).cuda()

    @torch.no_grad()
    def __call__(self, prompt, guidance=7.5):
        ids = torch.tensor([[hash(w) % 100 for w in prompt.split()]]).cuda()
        context = torch.cat([self.text(torch.zeros_like(ids)), self.text(ids)])
        latents = torch.randn(1, 4, 8, 8, device="cuda")
        scheduler = DDIM(self.steps)
        for i, t in enumerate(scheduler.timesteps):
            both = torch.cat([latents] * 2)
            noise = self.unet(both, torch.full((2,), t, device="cuda"), context)
            uncond, text = noise.chunk(2)
            noise = uncond + guidance * (text - uncond)
            latents = scheduler.step(noise, t, latents)
        image = (self.decoder(latents) / 2 + 0.5).clamp(0, 1)
        return image.cpu().permute(0, 2, 3, 1).numpy()


pipe = Pipeline()
prompts = [f"a photograph of {what} number {n}" for n in range(8) for what in ("cat", "dog", "sea")]
for number, prompt in enumerate(prompts):
    image = pipe(prompt)
print("images", number + 1, image.shape)
