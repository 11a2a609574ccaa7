"""Trains until an assertion of the user's own fails."""
import torch

torch.manual_seed(0)
net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(60):
    loss = net(torch.randn(16, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    assert step < 50, f"step {step} is too far"  # fails
