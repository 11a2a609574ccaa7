"""A Lightning module logs two values with prog_bar=True. The progress bar itself is off."""
import logging
import warnings

import lightning as L
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(*[m for _ in range(8)
                                          for m in (torch.nn.Linear(128, 128), torch.nn.GELU())])

    def training_step(self, batch, _):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.body(x), y)
        self.log("train_loss", loss, prog_bar=True)  # GUILTY
        self.log("gap", (x - y).abs().mean(), prog_bar=True)  # GUILTY, too
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


torch.manual_seed(3)
data = torch.utils.data.TensorDataset(torch.randn(160 * 16, 128), torch.randn(160 * 16, 128))
trainer = L.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False,
                    enable_checkpointing=False, enable_progress_bar=False,
                    enable_model_summary=False)
trainer.fit(Net(), torch.utils.data.DataLoader(data, batch_size=16))
print("done", trainer.global_step)
