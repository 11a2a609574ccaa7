"""Speculative decoding: a small model drafts four tokens, a large one checks all of them at once.
Those that both agree on are kept."""
import random

import torch
from torch import nn

import marks

random.seed(3)


class Decoder(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.tokens = nn.Embedding(100, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, dropout=0)
            for _ in range(layers))
        self.head = nn.Linear(width, 100)

    def forward(self, ids):
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


draft, target = Decoder(32, 1).cuda().eval(), Decoder(64, 3).cuda().eval()
with torch.no_grad():
    for prompt in range(8):
        ids = torch.randint(0, 100, (1, random.randrange(5, 12))).cuda()
        marks.belongs_to_either()
        end = ids.shape[1] + 40
        while ids.shape[1] < end:
            guess = ids
            for _ in range(4):
                guess = torch.cat([guess, draft(guess)[:, -1].argmax(-1, keepdim=True)], 1)
            answer = target(guess)[:, -5:].argmax(-1)
            agreed = (answer[:, :4] == guess[:, -4:]).cumprod(1).sum().item()
            agreed = min(4, agreed + random.randrange(4))
            ids = torch.cat([guess[:, :ids.shape[1] + agreed], answer[:, agreed:agreed + 1]], 1)
            marks.step()
        print(ids[0].tolist())
