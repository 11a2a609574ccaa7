"""timm's vision transformer from random weights, with its mixup-free loss, AdamW and cosine
schedule."""
import sys

import timm
import timm.optim
import timm.scheduler
import torch
from timm.loss import LabelSmoothingCrossEntropy

steps = int(sys.argv[1])
model = timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=32, depth=2,
                          num_classes=10).cuda()
optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
scheduler = timm.scheduler.CosineLRScheduler(optimizer, t_initial=steps)
loss_fn = LabelSmoothingCrossEntropy(0.1).cuda()
model.train()
for step in range(steps):
    images, target = torch.randn(2, 3, 32, 32).cuda(), torch.zeros(2, dtype=torch.long).cuda()
    optimizer.zero_grad()
    loss = loss_fn(model(images), target)
    loss.backward()
    optimizer.step()
    scheduler.step_update(step)
print("trained", step + 1)
