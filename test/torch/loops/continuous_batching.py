"""A server's engine. An iteration either takes in one waiting request, of any length, or advances
all running requests by one token. The host reads each answer."""
import random

import torch
from torch import nn

import marks

VOCABULARY, WIDTH, SLOTS, LONGEST = 128, 64, 8, 96
random.seed(2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = (nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH),
                                         nn.Linear(WIDTH, WIDTH))
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 128), nn.SiLU(),
                                 nn.Linear(128, WIDTH))
        self.keys, self.values = torch.zeros(2, SLOTS, LONGEST, WIDTH, device="cuda")

    def forward(self, x, slots, at):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        self.keys[slots[:, None], at], self.values[slots[:, None], at] = k, v
        if x.shape[1] > 1:
            attended = nn.functional.scaled_dot_product_attention(q[:, None], k[:, None],
                                                                  v[:, None], is_causal=True)
        else:
            mask = torch.arange(LONGEST, device="cuda")[None] <= at
            attended = nn.functional.scaled_dot_product_attention(q[:, None],
                                                                  self.keys[slots][:, None],
                                                                  self.values[slots][:, None],
                                                                  attn_mask=mask[:, None, None])
        x = x + self.out(attended[:, 0])
        return x + self.mlp(x)


embedding, head = nn.Embedding(VOCABULARY, WIDTH).cuda(), nn.Linear(WIDTH, VOCABULARY).cuda()
blocks = [Block().cuda() for _ in range(3)]


def next_tokens(tokens, slots, at):
    x, slots, at = embedding(tokens.cuda()), slots.cuda(), at.cuda()
    for block in blocks:
        x = block(x, slots, at)
    return head(x[:, -1]).softmax(-1).topk(20).indices[:, 0].cpu().tolist()


waiting, running, free = [], {}, list(range(SLOTS))
with torch.inference_mode():
    for iteration in range(220):
        if random.random() < 0.2 or not (waiting or running):
            waiting.append(random.randint(4, 40))
        if waiting and free:
            length, slot = waiting.pop(0), free.pop()
            next_tokens(torch.zeros(1, length, dtype=torch.long), torch.tensor([slot]),
                        torch.arange(length)[None])
            running[slot] = [length, random.randint(5, 25)]
        else:
            next_tokens(torch.zeros(len(running), 1, dtype=torch.long), torch.tensor(list(running)),
                        torch.tensor([[at] for at, _ in running.values()]))
            running = {slot: [at + 1, left - 1] for slot, (at, left) in running.items()}
        for slot in [slot for slot, (_, left) in running.items() if not left]:
            del running[slot]
            free.append(slot)
        marks.step()
