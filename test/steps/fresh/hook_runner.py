# step: loop at line 66; iterations 160
"""A runner with hooks after open-mmlab/mmcv: a workflow of training and validation epochs, and
hooks that step the optimizer, keep an average of the weights, log and check."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda")


class Hook:
    def __getattr__(self, name):
        if name.startswith(("before_", "after_")):
            return lambda runner: None
        raise AttributeError(name)


class OptimizerHook(Hook):
    def after_train_iter(self, runner):
        runner.optimizer.zero_grad()
        runner.outputs["loss"].backward()
        nn.utils.clip_grad_norm_(runner.model.parameters(), 10)
        runner.optimizer.step()


class EMAHook(Hook):
    def before_run(self, runner):
        self.shadow = {k: v.clone() for k, v in runner.model.state_dict().items()}

    def after_train_iter(self, runner):
        if runner.iteration % 2:
            return
        for key, value in runner.model.state_dict().items():
            self.shadow[key].mul_(0.99).add_(value, alpha=0.01)


class LoggerHook(Hook):
    def after_train_iter(self, runner):
        if (runner.iteration + 1) % 25 == 0:
            print(runner.epoch, runner.iteration, runner.outputs["loss"].item())

    def after_val_epoch(self, runner):
        print("validated", runner.epoch)


class Runner:
    def __init__(self, model, optimizer, hooks):
        self.model, self.optimizer, self.hooks = model, optimizer, hooks
        self.epoch = self.iteration = 0
        self.outputs = {}

    def call_hook(self, name):
        for hook in self.hooks:
            getattr(hook, name)(self)

    def run_iter(self, batch, train):
        x, y = (t.to(device, non_blocking=True) for t in batch)
        scores = self.model(x)
        self.outputs = {"loss": nn.functional.mse_loss(scores, y)}
        if not train:
            self.outputs["error"] = (scores - y).abs().mean().item()

    def train(self, loader):
        self.model.train()
        self.call_hook("before_train_epoch")
        for batch in loader:
            self.call_hook("before_train_iter")
            self.run_iter(batch, True)
            self.call_hook("after_train_iter")
            self.iteration += 1
        self.call_hook("after_train_epoch")
        self.epoch += 1

    @torch.no_grad()
    def val(self, loader):
        self.model.eval()
        for batch in loader:
            self.call_hook("before_val_iter")
            self.run_iter(batch, False)
            self.call_hook("after_val_iter")
        self.call_hook("after_val_epoch")

    def run(self, loaders, workflow, max_epochs):
        self.call_hook("before_run")
        while self.epoch < max_epochs:
            for loader, (mode, epochs) in zip(loaders, workflow):
                for _ in range(epochs):
                    if mode == "train" and self.epoch >= max_epochs:
                        break
                    getattr(self, mode)(loader)
        self.call_hook("after_run")


def main():
    data = TensorDataset(torch.randn(128, 10), torch.randn(128, 2))
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 2))
    model = model.to(device)
    runner = Runner(model, torch.optim.Adam(model.parameters()),
                    [OptimizerHook(), EMAHook(), LoggerHook()])
    runner.run([DataLoader(data, 4), DataLoader(data, 16)], [("train", 2), ("val", 1)], 5)
    print("COUNT", runner.iteration)


main()
