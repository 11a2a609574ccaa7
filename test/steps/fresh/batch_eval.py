# step: loop at line 22; iterations 161
"""Batched evaluation: one model, four data sets, the predictions gathered on the host, metrics from
all of them at the end."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_model(width):
    model = nn.Sequential(nn.Conv1d(4, width, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
                          nn.Conv1d(width, width, 3, padding=1), nn.ReLU(),
                          nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 7))
    return model.to("cuda").eval()


@torch.no_grad()
def evaluate(model, loader, criterion):
    predictions, targets, loss_sum, count = [], [], 0.0, 0
    for inputs, labels in loader:
        inputs, labels = inputs.to("cuda"), labels.to("cuda")
        outputs = model(inputs)
        loss_sum += criterion(outputs, labels).item() * inputs.size(0)
        count += inputs.size(0)
        predictions.append(outputs.argmax(dim=1).cpu().numpy())
        targets.append(labels.cpu().numpy())
    return np.concatenate(predictions), np.concatenate(targets), loss_sum / count


def confusion(predictions, targets, classes=7):
    matrix = np.zeros((classes, classes), dtype=int)
    for p, t in zip(predictions, targets):
        matrix[t, p % classes] += 1
    return matrix


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=24)
    args = parser.parse_args()
    model, criterion = build_model(args.width), nn.CrossEntropyLoss()
    results = {}
    for name, size in (("clean", 600), ("noise", 640), ("blur", 680), ("fog", 640)):
        data = TensorDataset(torch.randn(size, 4, 32), torch.randint(0, 7, (size,)))
        predictions, targets, loss = evaluate(model, DataLoader(data, batch_size=16), criterion)
        results[name] = confusion(predictions, targets).sum()
    print(results)


if __name__ == "__main__":
    main()
