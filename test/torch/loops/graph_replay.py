"""A whole step captured as a CUDA graph after three eager ones, then replayed."""
import torch
from torch import nn

import marks

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
static_x = torch.randn(16, 64, device="cuda")
static_y = torch.randn(16, 10, device="cuda")


def train():
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(model(static_x), static_y)
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        train()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static_loss = train()
marks.setup_done()
for step in range(150):
    static_x.copy_(torch.randn(16, 64))
    static_y.copy_(torch.randn(16, 10))
    graph.replay()
    static_loss.item()
    marks.step()
