# step: loop at line 40; iterations 300; or: loop at line 63; iterations 12
"""Classifier guidance after openai/guided-diffusion: p_sample_loop consumes a generator that yields
each denoised image; the classifier's gradient shifts the mean."""
import torch
from torch import nn

SAMPLES, STEPS, SIDE, CLASSES = 12, 25, 8, 6
device = torch.device("cuda")


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time, self.label = nn.Linear(1, 16), nn.Embedding(CLASSES, 16)
        self.first, self.last = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 6, 3, padding=1)

    def forward(self, x, t, y):
        context = self.time(t[:, None] / STEPS) + self.label(y)
        hidden = torch.relu(self.first(x) + context[:, :, None, None])
        return self.last(hidden).chunk(2, 1)


class Diffusion:
    def __init__(self, steps):
        betas = torch.linspace(1e-3, 0.1, steps)
        self.steps, self.alphas_bar = steps, torch.cumprod(1 - betas, 0).to(device)

    def p_sample(self, model, x, t, condition, y):
        with torch.no_grad():
            noise, log_variance = model(x, t.float(), y)
        a = self.alphas_bar[t].view(-1, 1, 1, 1)
        mean = (x - (1 - a).sqrt() * noise) / a.sqrt().clamp(min=0.2)
        mean = mean + log_variance.sigmoid() * condition(x, y)
        mask = (t != 0).float().view(-1, 1, 1, 1)
        return mean + mask * (0.5 * log_variance.tanh()).exp() * torch.randn_like(x)

    def progressive(self, model, shape, condition, y):
        image = torch.randn(*shape, device=device)
        indices = list(range(self.steps))[::-1]
        for i in indices:
            t = torch.tensor([i] * shape[0], device=device)
            image = self.p_sample(model, image, t, condition, y)
            yield image

    def sample(self, *arguments):
        final = None
        for image in self.progressive(*arguments):
            final = image
        return final


def main():
    model = Denoiser().to(device)
    classifier = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, CLASSES)).to(device)

    def condition(x, y):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            chosen = classifier(x).log_softmax(-1)[range(len(y)), y]
            return torch.autograd.grad(chosen.sum(), x)[0]

    images, diffusion = [], Diffusion(STEPS)
    while len(images) * 2 < SAMPLES * 2:
        y = torch.randint(CLASSES, (2,), device=device)
        sample = diffusion.sample(model, (2, 3, SIDE, SIDE), condition, y)
        sample = ((sample + 1) * 127.5).clamp(0, 255).to(torch.uint8)
        images.append(sample.permute(0, 2, 3, 1).cpu().numpy())
    print("COUNT", len(images) * STEPS, len(images))


main()
