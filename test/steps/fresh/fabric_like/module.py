"""What users subclass."""
from torch import nn


class Module(nn.Module):
    def training_step(self, batch, batch_idx):
        raise NotImplementedError

    def validation_step(self, batch, batch_idx):
        pass

    def configure_optimizers(self):
        raise NotImplementedError


class Callback:
    def on_advance_start(self, trainer):
        pass

    def on_advance_end(self, trainer):
        pass

    def on_train_batch_start(self, trainer, batch, batch_idx):
        pass

    def on_train_batch_end(self, trainer, batch, batch_idx):
        pass
