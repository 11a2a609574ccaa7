"""The inner training loop: updates, each of several micro-batches that are fetched together."""
import dataclasses
import math

import torch
from torch.utils.data import DataLoader


@dataclasses.dataclass
class TrainingArguments:
    epochs: int = 2
    batch_size: int = 4
    gradient_accumulation_steps: int = 3
    logging_steps: int = 10
    eval_steps: int = 30
    learning_rate: float = 5e-5
    max_grad_norm: float = 1.0


class Trainer:
    def __init__(self, model, args, train_dataset, eval_dataset):
        self.model, self.args = model.to("cuda"), args
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.global_step, self.logs = 0, []

    def get_batch_samples(self, iterator, count):
        samples = []
        for _ in range(count):
            try:
                samples.append(next(iterator))
            except StopIteration:
                break
        return samples

    def training_step(self, inputs):
        self.model.train()
        inputs = {k: v.to("cuda") for k, v in inputs.items()}
        loss = self.model(**inputs)["loss"] / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def maybe_log_and_evaluate(self, loss):
        if self.global_step % self.args.logging_steps == 0:
            self.logs.append(loss.item())
            loss -= loss
        if self.global_step % self.args.eval_steps == 0:
            self.evaluate()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses = []
        for inputs in DataLoader(self.eval_dataset, self.args.batch_size):
            outputs = self.model(**{k: v.to("cuda") for k, v in inputs.items()})
            losses.append(outputs["loss"].repeat(self.args.batch_size).cpu())
        return torch.cat(losses).mean()

    def train(self):
        args = self.args
        loader = DataLoader(self.train_dataset, args.batch_size, shuffle=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.learning_rate)
        updates = math.ceil(len(loader) / args.gradient_accumulation_steps)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: 1 - step / (updates * args.epochs + 1))
        return self._inner_training_loop(loader, updates)

    def _inner_training_loop(self, loader, updates):
        args = self.args
        tr_loss = torch.tensor(0.0, device="cuda")
        self.model.zero_grad()
        for epoch in range(args.epochs):
            iterator = iter(loader)
            for _ in range(updates):
                batch_samples = self.get_batch_samples(iterator, args.gradient_accumulation_steps)
                for i, inputs in enumerate(batch_samples):
                    tr_loss += self.training_step(inputs)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), args.max_grad_norm)
                self.optimizer.step()
                self.scheduler.step()
                self.model.zero_grad()
                self.global_step += 1
                self.maybe_log_and_evaluate(tr_loss)
        return self.global_step
