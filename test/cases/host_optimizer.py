"""The optimizer's state is kept on the CPU: gradients go there, and parameters come back."""
import torch

torch.set_num_threads(1)
net = torch.nn.Sequential(*[layer for _ in range(6)
                            for layer in (torch.nn.Linear(128, 128), torch.nn.ReLU())]).cuda()


class HostAdam:
    def __init__(self, parameters):
        self.live = list(parameters)
        self.master = [torch.nn.Parameter(p.detach().cpu()) for p in self.live]
        self.adam = torch.optim.AdamW(self.master, foreach=False)

    def step(self):
        for master, live in zip(self.master, self.live):
            master.grad = live.grad.to("cpu")
        self.adam.step()
        with torch.no_grad():
            for master, live in zip(self.master, self.live):
                live.copy_(master)


optimizer = HostAdam(net.parameters())
for step in range(150):
    loss = net(torch.randn(64, 128, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    net.zero_grad()
