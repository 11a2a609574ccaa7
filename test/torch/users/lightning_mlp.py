"""Lightning's Trainer with a LightningModule and a DataLoader."""
import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(),
                                 nn.Linear(64, 5))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


steps = int(sys.argv[1])
data = TensorDataset(torch.randn(16 * steps, 32), torch.zeros(16 * steps, dtype=torch.long))
trainer = lightning.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False)
trainer.fit(Classifier(), DataLoader(data, batch_size=16))
print("trained", trainer.global_step)
