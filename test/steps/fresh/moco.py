# step: loop at line 63; iterations 90
"""Contrastive learning after MoCo: a momentum encoder and a bank of keys that is written in a
ring."""
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


class TwoCrops(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, i):
        x = torch.full((3, 8, 8), i / 500)
        return [x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)], 0


class MoCo(nn.Module):
    def __init__(self, dim=16, K=128, m=0.99, T=0.07):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q, self.encoder_k = self.encoder(dim), self.encoder(dim)
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data.copy_(q.data)
            k.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.ptr = 0

    @staticmethod
    def encoder(dim):
        return nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16),
                             nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, dim))

    @torch.no_grad()
    def _momentum_update(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1 - self.m)

    @torch.no_grad()
    def _enqueue(self, keys):
        self.queue[:, self.ptr:self.ptr + keys.size(0)] = keys.T
        self.ptr = (self.ptr + keys.size(0)) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update()
            shuffle = torch.randperm(im_k.size(0), device="cuda")
            k = F.normalize(self.encoder_k(im_k[shuffle]), dim=1)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        self._enqueue(k)
        return logits, torch.zeros(logits.size(0), dtype=torch.long, device="cuda")


def train(loader, model, criterion, optimizer, epoch):
    model.train()
    shown = 0
    for i, (images, _) in enumerate(loader):
        images[0], images[1] = images[0].cuda(), images[1].cuda()
        output, target = model(im_q=images[0], im_k=images[1])
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 10 == 0:
            shown += bool(isinstance(loss.item(), float))
    return shown


def main():
    loader = DataLoader(TwoCrops(), batch_size=16, shuffle=True, drop_last=True)
    model, criterion = MoCo().cuda(), nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.03, momentum=0.9, weight_decay=1e-4)
    for epoch in range(3):
        for group in optimizer.param_groups:
            group["lr"] = 0.03 * 0.5 * (1 + math.cos(math.pi * epoch / 3))
        shown = train(loader, model, criterion, optimizer, epoch)
    print("shown", shown)


main()
