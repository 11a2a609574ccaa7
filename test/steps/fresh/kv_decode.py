# step: loop at line 60; iterations 300; or: loop at line 78; iterations 25
"""Greedy decoding with a KV cache after gpt-fast: prefill, then one token per forward pass, for 25
prompts of different lengths and answers of different lengths."""
import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.RMSNorm(dim)
        self.wqkv, self.wo = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.w1, self.w2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def setup_cache(self, length, dim):
        shape = (1, self.heads, length, dim // self.heads)
        self.k, self.v = torch.zeros(shape, device="cuda"), torch.zeros(shape, device="cuda")

    def forward(self, x, pos, mask):
        b, s, d = x.shape
        q, k, v = (part.view(b, s, self.heads, -1).transpose(1, 2)
                   for part in self.wqkv(self.norm(x)).split(d, dim=-1))
        self.k[:, :, pos], self.v[:, :, pos] = k, v
        y = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=mask)
        x = x + self.wo(y.transpose(1, 2).reshape(b, s, d))
        return x + self.w2(F.silu(self.w1(x)))


class Transformer(nn.Module):
    def __init__(self, vocab=128, dim=32, heads=2, layers=2, length=64):
        super().__init__()
        self.tok, self.out = nn.Embedding(vocab, dim), nn.Linear(dim, vocab, bias=False)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.dim, self.length = dim, length

    def setup_caches(self):
        for layer in self.layers:
            layer.setup_cache(self.length, self.dim)
        self.mask = torch.tril(torch.ones(self.length, self.length, dtype=torch.bool,
                                          device="cuda"))

    def forward(self, idx, pos):
        x, mask = self.tok(idx), self.mask[None, None, pos]
        for layer in self.layers:
            x = layer(x, pos, mask)
        return self.out(x)


def prefill(model, prompt, pos):
    return model(prompt, pos)[:, -1].argmax(-1, keepdim=True)


def decode_one(model, token, pos):
    return model(token, pos)[:, -1].argmax(-1, keepdim=True)


def decode_n(model, token, pos, count):
    tokens = []
    for i in range(count):
        token = decode_one(model, token, pos).clone()
        pos = pos + 1
        tokens.append(token)
    return tokens


@torch.no_grad()
def generate(model, prompt, count):
    pos = torch.arange(prompt.size(1), device="cuda")
    token = prefill(model, prompt, pos)
    pos = torch.tensor([prompt.size(1)], device="cuda")
    return torch.cat([prompt, token, *decode_n(model, token, pos, count)], dim=1)


def main():
    model = Transformer().cuda().eval()
    model.setup_caches()
    for i in range(25):
        prompt = torch.randint(0, 128, (1, 4 + 3 * i % 11)).cuda()
        out = generate(model, prompt, 12 + (i % 5 - 2) * 3)
        text = " ".join(map(str, out[0].tolist()))
    print("answers", i + 1, bool(text))


main()
