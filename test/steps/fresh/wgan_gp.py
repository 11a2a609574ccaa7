# step: loop at line 44; iterations 180
"""WGAN with gradient penalty: the critic learns from each batch, the generator from each fifth."""
import torch
from torch import autograd, nn, optim
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, N_CRITIC, LATENT = 3, 5, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(LATENT, 32), nn.BatchNorm1d(32), nn.LeakyReLU(0.2),
                                   nn.Linear(32, 64), nn.Tanh())

    def forward(self, z):
        return self.model(z).view(z.size(0), 1, 8, 8)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(64, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, image):
        return self.model(image.view(image.size(0), -1))


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1, device="cuda")
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    gradient = autograd.grad(score, mixed, torch.ones_like(score), create_graph=True)[0]
    return ((gradient.view(gradient.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()


def main():
    loader = DataLoader(TensorDataset(torch.randn(960, 1, 8, 8)), batch_size=16, shuffle=True)
    generator, critic = Generator().cuda(), Critic().cuda()
    optimizer_g = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = optim.Adam(critic.parameters(), lr=2e-4, betas=(0.5, 0.999))
    done = 0
    for epoch in range(EPOCHS):
        for i, (images,) in enumerate(loader):
            real = images.cuda()
            optimizer_d.zero_grad()
            fake = generator(torch.randn(real.size(0), LATENT, device="cuda"))
            d_loss = (-critic(real).mean() + critic(fake.detach()).mean()
                      + 10 * gradient_penalty(critic, real, fake.detach()))
            d_loss.backward()
            optimizer_d.step()
            if i % N_CRITIC == 0:
                optimizer_g.zero_grad()
                g_loss = -critic(generator(torch.randn(16, LATENT, device="cuda"))).mean()
                g_loss.backward()
                optimizer_g.step()
                if done % 50 == 0:
                    print(f"[{epoch}/{EPOCHS}] [{i}/{len(loader)}] {type(d_loss.item()).__name__}")
            done += 1
    print("batches", done)


if __name__ == "__main__":
    main()
