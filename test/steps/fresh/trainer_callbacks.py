# step: loop at line 58; iterations 180
# A trainer with callbacks: averaged weights, a log, and a checkpoint in each epoch.
import io

import torch
from torch import nn


class Callback:
    def on_fit_start(self, t): pass
    def on_batch_end(self, t, loss): pass
    def on_epoch_end(self, t): pass


class History(Callback):
    def __init__(self):
        self.seen = []

    def on_batch_end(self, t, loss):
        if t.step % 20 == 0:
            self.seen.append(loss.item())


class EMA(Callback):
    def __init__(self, decay):
        self.decay = decay

    def on_fit_start(self, t):
        self.shadow = {k: v.detach().clone() for k, v in t.model.named_parameters()}

    def on_batch_end(self, t, loss):
        for k, v in t.model.named_parameters():
            self.shadow[k].mul_(self.decay).add_(v.detach(), alpha=1 - self.decay)


class Checkpoint(Callback):
    def on_epoch_end(self, t):
        torch.save(t.model.state_dict(), io.BytesIO())


class Trainer:
    def __init__(self, model, data, callbacks):
        self.model, self.data, self.callbacks = model, data, callbacks
        self.opt = torch.optim.Adam(model.parameters(), 1e-3)
        self.step = 0

    def call(self, hook, *args):
        for c in self.callbacks:
            getattr(c, hook)(self, *args)

    def training_step(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.model(x), y)

    def fit(self, epochs):
        self.call("on_fit_start")
        for epoch in range(epochs):
            for batch in self.data:
                loss = self.training_step(batch)
                self.opt.zero_grad(set_to_none=True)
                loss.backward()
                self.opt.step()
                self.step += 1
                self.call("on_batch_end", loss)
            self.call("on_epoch_end")


model = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(64, 64), nn.ReLU())]).cuda()
data = [(torch.randn(16, 64, device="cuda"), torch.randn(16, 64, device="cuda")) for _ in range(60)]
h = History()
Trainer(model, data, [h, EMA(0.99), Checkpoint()]).fit(3)
print("done", len(h.seen))
