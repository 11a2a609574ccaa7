# step: loop at line 45; iterations 120
"""Distillation from an EMA teacher: train and validate functions per epoch, as in the reference
implementation of Mean Teacher."""
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, BATCH = 4, 16
global_step = 0


class Meter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n


def convnet(ema=False):
    net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 10)).cuda()
    if ema:
        for parameter in net.parameters():
            parameter.detach_()
    return net


def update_ema(model, ema_model, alpha):
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for kept, new in zip(ema_model.parameters(), model.parameters()):
        kept.data.mul_(alpha).add_(new.data, alpha=1 - alpha)


def train(loader, model, ema_model, optimizer, epoch):
    global global_step
    losses, batch_time = Meter(), Meter()
    model.train()
    ema_model.train()
    end = time.time()
    for i, (x, ema_x, target) in enumerate(loader):
        x, target = x.cuda(non_blocking=True), target.cuda(non_blocking=True)
        logits = model(x)
        with torch.no_grad():
            ema_logits = ema_model(ema_x.cuda())
        class_loss = F.cross_entropy(logits, target, reduction="sum") / BATCH
        ramp = min(1.0, epoch / 2)
        consistency = ramp * F.mse_loss(logits.softmax(1), ema_logits.softmax(1))
        loss = class_loss + consistency
        losses.update(loss.item(), BATCH)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        global_step += 1
        update_ema(model, ema_model, 0.99)
        batch_time.update(time.time() - end)
        end = time.time()


def validate(loader, model):
    top1 = Meter()
    model.eval()
    with torch.no_grad():
        for x, target in loader:
            output = model(x.cuda())
            top1.update((output.argmax(1) == target.cuda()).float().mean().item())
    return top1.sum / top1.count


images, labels = torch.randn(480, 3, 8, 8), torch.randint(0, 10, (480,))
train_loader = DataLoader(TensorDataset(images, images + 0.1, labels), BATCH, shuffle=True)
eval_loader = DataLoader(TensorDataset(images[:160], labels[:160]), 20)
student, teacher = convnet(), convnet(ema=True)
sgd = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for epoch in range(EPOCHS):
    train(train_loader, student, teacher, sgd, epoch)
    validate(eval_loader, student)
    validate(eval_loader, teacher)
print("steps", global_step)
