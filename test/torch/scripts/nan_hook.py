"""The user's own hooks look for NaN in gradients. That is no anomaly detection."""
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(64, 64),
                                                          torch.nn.ReLU())]).cuda()


def check(gradient):
    if gradient.isnan().any().item():  # PLANTED
        raise ValueError("NaN")


for parameter in net.parameters():
    parameter.register_hook(check)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(80):
    loss = net(torch.randn(16, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
