"""Transformers' Trainer: GPT-2 from a configuration, two backward passes per step, a log line every
ten steps."""
import sys
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, i):
        ids = torch.full((32,), i, dtype=torch.long)
        return {"input_ids": ids, "labels": ids}


torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=500, n_positions=64))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=4,
                                  gradient_accumulation_steps=2, max_steps=int(sys.argv[1]),
                                  logging_steps=10, report_to=[], save_strategy="no",
                                  disable_tqdm=True)
    print("trained", Trainer(model, arguments, train_dataset=Sentences()).train().global_step)
