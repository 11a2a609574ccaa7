"""Loops: the same run() drives the epochs and, nested in it, the batches."""


class Loop:
    def __init__(self, trainer):
        self.trainer = trainer

    @property
    def done(self):
        raise NotImplementedError

    def reset(self):
        pass

    def advance(self):
        raise NotImplementedError

    def on_run_end(self):
        pass

    def run(self):
        self.reset()
        while not self.done:
            try:
                self.trainer.call("on_advance_start")
                self.advance()
                self.trainer.call("on_advance_end")
            except StopIteration:
                break
        return self.on_run_end()


class TrainingEpochLoop(Loop):
    def reset(self):
        self.batches, self.batch_idx = iter(self.trainer.loader), 0

    @property
    def done(self):
        return self.batch_idx >= len(self.trainer.loader)

    def advance(self):
        batch = self.trainer.to_device(next(self.batches))
        self.trainer.call("on_train_batch_start", batch, self.batch_idx)
        self.trainer.optimizer.step(lambda: self.closure(batch))
        self.trainer.call("on_train_batch_end", batch, self.batch_idx)
        self.batch_idx += 1
        self.trainer.global_step += 1

    def closure(self, batch):
        loss = self.trainer.module.training_step(batch, self.batch_idx)
        self.trainer.optimizer.zero_grad()
        loss.backward()
        return loss


class ValidationLoop(Loop):
    def reset(self):
        self.batches, self.batch_idx = iter(self.trainer.val_loader), 0

    @property
    def done(self):
        return self.batch_idx >= len(self.trainer.val_loader)

    def advance(self):
        batch = self.trainer.to_device(next(self.batches))
        self.trainer.module.validation_step(batch, self.batch_idx)
        self.batch_idx += 1


class FitLoop(Loop):
    def __init__(self, trainer, epochs):
        super().__init__(trainer)
        self.epochs, self.epoch = epochs, 0
        self.epoch_loop, self.val_loop = TrainingEpochLoop(trainer), ValidationLoop(trainer)

    @property
    def done(self):
        return self.epoch >= self.epochs

    def advance(self):
        self.trainer.module.train()
        self.epoch_loop.run()
        self.trainer.validate(self.val_loop)
        self.epoch += 1
