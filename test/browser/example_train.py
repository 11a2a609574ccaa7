"""The training loop in the pictures of the documentation: a small transformer that predicts the
next token. Its loss is read in each step, and its batches are made in the training's own process.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS, WORDS, WIDTH, LENGTH, BATCH = 160, 512, 128, 64, 16


class Text(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, i):
        return torch.arange(i, i + LENGTH + 1) % WORDS


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(4)])
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


def main():
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    total = 0.0
    for tokens in DataLoader(Text(), batch_size=BATCH):
        tokens = tokens.cuda()
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, WORDS), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"mean loss {total / STEPS:.3f}")


main()
