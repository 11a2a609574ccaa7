"""The trainer: owns the loops, the callbacks and the device."""
import torch

from .loops import FitLoop


class Trainer:
    def __init__(self, epochs, callbacks=(), device="cuda"):
        self.epochs, self.callbacks, self.device = epochs, list(callbacks), device
        self.global_step = 0

    def call(self, hook, *arguments):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *arguments)

    def to_device(self, batch):
        return [part.to(self.device) for part in batch]

    def validate(self, loop):
        self.module.eval()
        with torch.no_grad():
            loop.run()

    def fit(self, module, loader, val_loader):
        self.module, self.loader, self.val_loader = module.to(self.device), loader, val_loader
        self.optimizer = module.configure_optimizers()
        FitLoop(self, self.epochs).run()
