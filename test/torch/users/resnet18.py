"""torchvision's resnet18 from random weights, as in PyTorch's ImageNet example: SGD with momentum,
cross entropy, top-1 accuracy."""
import sys

import torch
import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet18(weights=None, num_classes=10).cuda()
criterion = torch.nn.CrossEntropyLoss().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
model.train()
for i in range(int(sys.argv[1])):
    images = torch.randn(2, 3, 32, 32).cuda(non_blocking=True)
    target = torch.zeros(2, dtype=torch.long).cuda(non_blocking=True)
    output = model(images)
    loss = criterion(output, target)
    right = output.argmax(1).eq(target).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        print(f"step {i} loss {loss.item():.4f} right {right.item()}")
