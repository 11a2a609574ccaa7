"""A small BERT in Transformers' Trainer: the program has no loop of its own."""
import sys

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 600

    def __getitem__(self, i):
        return {"input_ids": torch.randint(0, 1000, (32,)),
                "attention_mask": torch.ones(32, dtype=torch.long), "labels": torch.tensor(i % 2)}


model = BertForSequenceClassification(
    BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
               vocab_size=1000))
arguments = TrainingArguments(sys.argv[1], per_device_train_batch_size=8, num_train_epochs=1,
                              report_to=[], logging_steps=20, save_strategy="no")
Trainer(model, arguments, train_dataset=Texts()).train()
