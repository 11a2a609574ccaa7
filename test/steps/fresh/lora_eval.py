# step: loop at line 55; iterations 120
"""Fine-tunes low-rank adapters, and generates a sample in each evaluation, as peft examples do."""
import torch
from torch import nn


class Lora(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        for p in base.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.layers = nn.ModuleList([Lora(nn.Linear(32, 32)) for _ in range(3)])
        self.head = nn.Linear(32, 50)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.head(x)


def generate(model, n):
    ids = torch.zeros(1, 1, dtype=torch.long).cuda()
    with torch.no_grad():
        for _ in range(n):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], 1)
    return ids[0].tolist()


def evaluate(model, batches):
    total = 0.0
    with torch.no_grad():
        for ids in batches:
            total += nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1),
                                                 ids[:, 1:].flatten()).item()
    return total / len(batches)


model = Model().cuda()
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
held_out = [torch.randint(50, (4, 17)).cuda() for _ in range(5)]
for epoch in range(4):
    for step, ids in enumerate(torch.randint(50, (30, 8, 17))):
        ids = ids.cuda()
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 15 == 14:
            print(epoch, step, evaluate(model, held_out), generate(model, 12))
