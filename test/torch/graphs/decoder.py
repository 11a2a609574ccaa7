"""A small decoder with a cache and one CUDA graph for each batch size, as in inference engines.
Requests come in batches of changing size: a prompt runs without a graph, each token is one replay.

usage: decoder.py WAY REQUESTS      WAY: eager or graph
"""
import sys

import torch
from torch import nn

from capture import captured

WIDTH, LAYERS, LENGTH, PROMPT, TOKENS = 64, 2, 32, 12, 8
SIZES = (1, 2, 4)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = (nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH),
                                         nn.LayerNorm(WIDTH))

    def forward(self, x, cache, position):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        cache[0].index_copy_(1, position, k)
        cache[1].index_copy_(1, position, v)
        weights = (q @ cache[0].transpose(-1, -2)).softmax(-1)
        return x + self.out(weights @ cache[1])


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(100, WIDTH), nn.Linear(WIDTH, 100)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, tokens, caches, position):
        x = self.embedding(tokens)
        for layer, cache in zip(self.layers, caches):
            x = layer(x, cache, position)
        return self.head(x[:, -1:]).argmax(-1)


class Slot:
    """The static tensors of a batch size, and its graph."""

    def __init__(self, size):
        self.tokens = torch.zeros(size, 1, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")
        self.caches = [torch.zeros(2, size, LENGTH, WIDTH, device="cuda") for _ in range(LAYERS)]
        self.graph = self.out = None

    def step(self):
        return model(self.tokens, self.caches, self.position)

    def capture(self):
        self.graph, self.out = captured(self.step, warm_up=1)


@torch.inference_mode()
def serve(slot, prompt, prompt_positions):
    slot.tokens.copy_(model(prompt, slot.caches, prompt_positions))
    torch.cuda.synchronize()
    for _ in range(TOKENS):
        if slot.graph:
            slot.graph.replay()
        else:
            slot.out = slot.step()
        slot.tokens.copy_(slot.out)
        slot.position.add_(1)
        torch.cuda.synchronize()


torch.manual_seed(0)
way, requests = sys.argv[1], int(sys.argv[2])
model = Decoder().cuda().eval()
slots = {}
with torch.inference_mode():
    for size in SIZES:
        slots[size] = Slot(size)
        if way == "graph":
            slots[size].capture()
positions = torch.arange(PROMPT, device="cuda")
prompts = {size: torch.zeros(size, PROMPT, dtype=torch.long, device="cuda") for size in SIZES}
for number in range(requests):
    size = SIZES[number % len(SIZES)]
    serve(slots[size], prompts[size], positions)
print("done")
