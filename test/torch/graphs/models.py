"""Small models, run with and without CUDA graphs by the same lines and modules.

usage: models.py MODEL WAY STEPS
MODEL: mlp, block, conv or train. WAY: eager, graph and made (make_graphed_callables) have the same
kernels; so have compiled and reduce (reduce-overhead), and aot and cudagraphs.
"""
import sys

import torch
from torch import nn

from capture import captured

WIDTH = 64


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = (nn.Linear(WIDTH, 256), nn.Linear(256, WIDTH),
                                         nn.LayerNorm(WIDTH))

    def forward(self, x):
        hidden = self.up(self.norm(x))
        return x + self.down(nn.functional.gelu(hidden))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = (q @ k.transpose(-1, -2) * WIDTH ** -0.5).softmax(-1)
        return self.out(weights @ v)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.mlp, self.norm = Attention(), Mlp(), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = x + self.attention(self.norm(x))
        return self.mlp(x)


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.norm, self.head = nn.BatchNorm2d(16), nn.Linear(16, 10)

    def forward(self, x):
        x = nn.functional.relu(self.norm(self.first(x)))
        x = nn.functional.max_pool2d(self.second(x), 2)
        return self.head(x.mean((2, 3)))


class Stack(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layers = nn.ModuleList(layer() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


MODELS = {"mlp": (lambda: Stack(Mlp), (32, WIDTH)), "block": (lambda: Stack(Block), (4, 16, WIDTH)),
          "conv": (Convolutions, (8, 3, 32, 32)), "train": (lambda: Stack(Block), (4, 16, WIDTH))}
name, way, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
make, shape = MODELS[name]
torch.manual_seed(0)
model = make().cuda()
if name != "train":
    model.eval().requires_grad_(False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01) if name == "train" else None
static = torch.randn(shape, device="cuda")
batches = torch.randn(4, *shape, device="cuda")
run_model = model


def step():
    if optimizer:
        optimizer.zero_grad(set_to_none=True)
    out = run_model(static)
    if optimizer:
        out = out.square().mean()
        out.backward()
        optimizer.step()
    return out


if way == "made":
    run_model = torch.cuda.make_graphed_callables(model, (static,))
elif way == "compiled":
    run_model = torch.compile(model)
elif way == "aot":
    run_model = torch.compile(model, backend="aot_eager")
elif way == "cudagraphs":
    run_model = torch.compile(model, backend="cudagraphs")
elif way == "reduce":
    run_model = torch.compile(model, mode="reduce-overhead")
if way == "graph":
    graph, out = captured(step)
for number in range(steps):
    static.copy_(batches[number % 4])
    if way == "graph":
        graph.replay()
    else:
        out = step()
    torch.cuda.synchronize()
print("done")
