"""Accuracy is computed in numpy in each step, with all outputs."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(5)
optimizer = torch.optim.Adam(model.parameters())
inputs, targets = torch_kit.batch(), torch_kit.batch()
scores = []


def step(_, fixed):
    outputs = model(inputs)
    loss = torch.nn.functional.mse_loss(outputs, targets)
    if not fixed:
        scores.append(float((outputs.detach().argmax(1).cpu().numpy() == 0).mean()))  # PLANTED
        del scores[:-1]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


kit.measure(step, torch.cuda.synchronize)
