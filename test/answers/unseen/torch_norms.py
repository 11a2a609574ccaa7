"""The norm of each parameter's gradient is read for a log, one by one."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
inputs, targets = torch_kit.batch(), torch_kit.batch()
log = []


def norms(fixed):
    for p in model.parameters():
        norm = p.grad.norm()
        log.append(norm if fixed else norm.item())  # PLANTED
    del log[:-1]


def step(_, fixed):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    norms(fixed)
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
