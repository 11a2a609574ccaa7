"""Transformers' Trainer: GPT-2 from a configuration. A step has two backward passes; it logs, and
evaluates every ten steps."""
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

import marks


class Data(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        ids = torch.randint(0, 500, (32,))
        return {"input_ids": ids, "labels": ids}


class Mark(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        marks.step()

    def on_log(self, args, state, control, **kwargs):
        marks.belongs_to_either()

    def on_evaluate(self, args, state, control, **kwargs):
        marks.belongs_to_either()


model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=500, n_positions=64))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=8,
                                  gradient_accumulation_steps=2, max_steps=40, logging_steps=5,
                                  eval_strategy="steps", eval_steps=10, report_to=[],
                                  save_strategy="no", disable_tqdm=True)
    Trainer(model, arguments, train_dataset=Data(400), eval_dataset=Data(24),
            callbacks=[Mark()]).train()
