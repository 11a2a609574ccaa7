"""The executor of an inference engine: a thread captures one CUDA graph for each batch size, the
largest first and all in one memory pool, and pads each batch to the next size. The main thread only
puts batches into a queue. Sampling runs without a graph.

usage: engine.py WAY BATCHES      WAY: eager or graph
"""
import queue
import sys
import threading

import torch
from torch import nn

WIDTH, SIZES = 64, (8, 4, 2, 1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = (nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256),
                                         nn.Linear(256, WIDTH))

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(100, WIDTH), nn.Linear(WIDTH, 100)
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


class Runner:
    def __init__(self):
        self.tokens = torch.zeros(max(SIZES), dtype=torch.long, device="cuda")
        self.graphs, self.logits = {}, {}

    def forward(self, size):
        self.logits[size] = model(self.tokens[:size])

    def capture(self):
        pool = None
        for size in SIZES:
            self.forward(size)
            torch.cuda.synchronize()
            self.graphs[size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[size], pool=pool,
                                  capture_error_mode="thread_local"):
                self.forward(size)
            pool = self.graphs[size].pool()

    def run(self, size):
        padded = min(s for s in SIZES if s >= size)
        if self.graphs:
            self.graphs[padded].replay()
        else:
            self.forward(padded)
        return self.logits[padded][:size].softmax(-1).argmax(-1)


@torch.inference_mode()
def execute():
    runner = Runner()
    if way == "graph":
        runner.capture()
    while (tokens := batches.get()) is not None:
        runner.tokens[:len(tokens)].copy_(tokens, non_blocking=True)
        out = runner.run(len(tokens))
        torch.cuda.synchronize()
        answers.put(out)


way, number = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
model = Model().cuda().eval()
batches, answers = queue.Queue(), queue.Queue()
executor = threading.Thread(target=execute)
executor.start()
for i in range(number):
    batches.put(torch.zeros(1 + i % 6, dtype=torch.long).pin_memory())
    answers.get()
batches.put(None)
executor.join()
print("done")
