"""A recurrent net that is trained within detect_anomaly()."""
import torch

torch.manual_seed(0)
net = torch.nn.GRU(32, 32, batch_first=True).cuda()
head = torch.nn.Linear(32, 4).cuda()
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
with torch.autograd.detect_anomaly(check_nan=True):
    for step in range(80):
        x = torch.randn(8, 5, 32, device="cuda")
        state, _ = net(x)
        loss = head(state[:, -1]).square().mean()
        optimizer.zero_grad()
        loss.backward()  # PLANTED
        optimizer.step()
