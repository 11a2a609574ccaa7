"""Trains, and prints as JSON when each phase began and ended by its own clock: [[name, begin ns,
end ns], ...].

usage: phases.py KIND       KIND: a name of KINDS
"""
import contextlib
import json
import queue
import sys
import threading
import time

import torch
import torch.utils.checkpoint
from torch import nn

STEPS, WIDTH, CLASSES, BATCH = 36, 64, 10, 16
KINDS = {"plain", "amp", "accumulation", "workers", "kept_batches", "own_thread", "checkpoint",
         "evaluation", "evaluation_ahead", "hand_made", "closure", "lbfgs"}
intervals = []


@contextlib.contextmanager
def phase(name):
    begin = time.monotonic_ns()
    yield
    intervals.append([name, begin, time.monotonic_ns()])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, saves):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(4))
        self.head = nn.Linear(WIDTH, CLASSES)
        self.saves = saves

    def forward(self, x):
        for block in self.blocks:
            x = (torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.saves
                 else block(x))
        return self.head(x)


class Batches(torch.utils.data.Dataset):
    def __init__(self, item_s=0):
        self.item_s = item_s

    def __len__(self):
        return 100000

    def __getitem__(self, i):
        time.sleep(self.item_s)
        return torch.full((WIDTH,), float(i % 7)), i % CLASSES


class Trainer:
    def __init__(self, kind):
        self.kind = kind
        self.model = Net(kind == "checkpoint").cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        if kind == "lbfgs":  # runs its closure twice a step
            self.optimizer = torch.optim.LBFGS(self.model.parameters(), lr=0.1, max_iter=2)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 10)
        self.scaler = torch.amp.GradScaler("cuda", enabled=kind == "amp")
        has_workers = kind in ("workers", "kept_batches")
        self.loader = iter(torch.utils.data.DataLoader(
            Batches(0.001 if kind in ("kept_batches", "own_thread") else 0), batch_size=BATCH,
            pin_memory=has_workers, num_workers=2 if has_workers else 0))
        self.kept = None
        self.ahead = queue.Queue(1)
        if kind == "own_thread":
            threading.Thread(target=self.fetch, daemon=True).start()

    def fetch(self):
        for _ in range(STEPS):
            self.ahead.put([tensor.cuda() for tensor in next(self.loader)])

    def batch(self):
        with phase("data"):
            if self.kind == "own_thread":
                return self.ahead.get()
            x, y = batch = next(self.loader)
            if self.kind == "kept_batches":
                self.kept = batch  # the one before, pinned, goes back to PyTorch's allocator here
            return x.cuda(non_blocking=True), y.cuda(non_blocking=True)

    def loss(self, x, y):
        with torch.autocast("cuda", enabled=self.kind == "amp"):
            out = self.model(x)
            if self.kind in ("hand_made", "lbfgs"):
                return (out.logsumexp(1) - out[:, 0]).mean()
            return nn.functional.cross_entropy(out, y)

    def passes(self):
        x, y = self.batch()
        with phase("forward"):
            loss = self.loss(x, y)
        with phase("backward"):
            self.scaler.scale(loss).backward()
        return loss

    def update(self):
        with phase("optimizer"):
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.schedule.step()
            self.optimizer.zero_grad()

    def evaluate(self):
        x, y = self.batch()
        with phase("forward"), torch.no_grad():
            self.loss(x, y)

    def step(self, number):
        if self.kind in ("closure", "lbfgs"):  # forward and backward within the optimizer's step
            self.optimizer.step(self.passes)
            self.optimizer.zero_grad()
            return
        if self.kind == "evaluation_ahead":
            self.evaluate()
        for _ in range(4 if self.kind == "accumulation" else 1):
            self.passes()
        self.update()
        if self.kind == "evaluation":
            self.evaluate()


def main():
    kind, = sys.argv[1:]
    if kind not in KINDS:
        sys.exit(f"phases.py: no kind {kind}")
    trainer = Trainer(kind)
    for number in range(STEPS):
        torch.cuda.nvtx.range_push("train step")
        trainer.step(number)
        torch.cuda.nvtx.range_pop()
    print(json.dumps(intervals))


if __name__ == "__main__":
    main()
