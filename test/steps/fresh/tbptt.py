# step: loop at line 12; iterations 114
"""Truncated backpropagation through time: each chunk of a document is a step; the state goes on."""
import torch
from torch import nn

cell = nn.GRUCell(16, 32).cuda()
head = nn.Linear(32, 16).cuda()
optimizer = torch.optim.RMSprop([*cell.parameters(), *head.parameters()], lr=1e-3)
for document in range(12):
    state = torch.zeros(4, 32).cuda()
    text = torch.randn(8 + document % 4, 10, 4, 16)
    for chunk in text:
        chunk = chunk.cuda()
        loss = torch.zeros(()).cuda()
        for now, later in zip(chunk, chunk[1:]):
            state = cell(now, state)
            loss = loss + (head(state) - later).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        state = state.detach()
