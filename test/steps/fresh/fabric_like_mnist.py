# step: loop at fabric_like/loops.py:23; iterations 120
"""A program on a trainer library whose loops are all the same `while` in one method, nested: the
epochs' run() calls the batches' run()."""
import torch
from fabric_like import Callback, Module, Trainer
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Classifier(Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(48, 10))
        self.losses = []

    def training_step(self, batch, batch_idx):
        x, y = batch
        return F.cross_entropy(self.net(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.losses.append(F.cross_entropy(self.net(x), y).item())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Progress(Callback):
    def on_train_batch_end(self, trainer, batch, batch_idx):
        if batch_idx % 10 == 0:
            print(f"step {trainer.global_step}")


def loader(batches):
    data = TensorDataset(torch.randn(16 * batches, 8, 8), torch.randint(0, 10, (16 * batches,)))
    return DataLoader(data, batch_size=16)


trainer = Trainer(epochs=4, callbacks=[Progress()])
trainer.fit(Classifier(), loader(30), loader(8))
print("steps", trainer.global_step)
