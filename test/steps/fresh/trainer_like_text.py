# step: loop at trainer_like/trainer.py:73; iterations 100
"""A program on a trainer library with gradient accumulation, logging and evaluation by steps."""
import torch
from torch import nn
from torch.utils.data import Dataset
from trainer_like import Trainer, TrainingArguments


class Sentences(Dataset):
    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"input_ids": torch.randint(0, 100, (12,)), "labels": torch.tensor(i % 2)}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, input_ids, labels):
        logits = self.head(self.layer(self.embed(input_ids))[:, 0])
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


trainer = Trainer(Classifier(), TrainingArguments(), Sentences(600), Sentences(24))
print("updates", trainer.train())
