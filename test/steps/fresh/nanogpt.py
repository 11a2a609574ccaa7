# step: loop at line 64; iterations 60
"""Pretraining after nanoGPT: an endless loop with gradient accumulation under AMP, an evaluation
every 20 iterations, the next batch fetched while the GPU works."""
import math
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

BLOCK, BATCH, ACCUMULATION, MAX_ITERS, EVAL_INTERVAL, EVAL_ITERS = 16, 4, 4, 60, 20, 5


class GPT(nn.Module):
    def __init__(self, vocab=64, width=32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(BLOCK, width)
        self.ln, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.proj, self.head = nn.Linear(width, width), nn.Linear(width, vocab, bias=False)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        q, k, v = self.qkv(self.ln(x)).chunk(3, dim=-1)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


data = np.random.randint(0, 64, 5000).astype(np.int64)


def get_batch():
    at = torch.randint(len(data) - BLOCK - 1, (BATCH,))
    x = torch.stack([torch.from_numpy(data[i:i + BLOCK]) for i in at])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + BLOCK]) for i in at])
    return x.pin_memory().to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ("train", "val"):
        losses = torch.zeros(EVAL_ITERS)
        for k in range(EVAL_ITERS):
            with ctx:
                losses[k] = model(*get_batch())[1].item()
        out[split] = losses.mean()
    model.train()
    return out


def get_lr(it):
    return 1e-3 * (it / 10 if it < 10 else 0.5 * (1 + math.cos(math.pi * it / MAX_ITERS)))


model = GPT().to("cuda")
ctx = torch.amp.autocast("cuda", dtype=torch.bfloat16)
scaler = torch.amp.GradScaler("cuda", enabled=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
X, Y = get_batch()
iter_num, t0 = 0, time.time()
while True:
    for group in optimizer.param_groups:
        group["lr"] = get_lr(iter_num)
    if iter_num % EVAL_INTERVAL == 0:
        estimate_loss()
    for micro_step in range(ACCUMULATION):
        with ctx:
            logits, loss = model(X, Y)
            loss = loss / ACCUMULATION
        X, Y = get_batch()
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    t0, dt = time.time(), time.time() - t0
    if iter_num % 10 == 0:
        lossf = loss.item() * ACCUMULATION
    iter_num += 1
    if iter_num >= MAX_ITERS:
        break
print("iterations", iter_num)
