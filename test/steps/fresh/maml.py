# step: loop at line 53; iterations 40
"""MAML: each meta-iteration adapts copies of the weights to four tasks with three inner updates."""
import torch
from torch import nn
from torch.nn import functional as F


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList([nn.Parameter(0.1 * torch.randn(32, 16)),
                                      nn.Parameter(torch.zeros(32)),
                                      nn.Parameter(0.1 * torch.randn(5, 32)),
                                      nn.Parameter(torch.zeros(5))])

    def forward(self, x, weights=None):
        w1, b1, w2, b2 = self.vars if weights is None else weights
        return F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)


class Meta(nn.Module):
    def __init__(self, inner_steps=3, inner_lr=0.4):
        super().__init__()
        self.inner_steps, self.inner_lr = inner_steps, inner_lr
        self.net = Learner()
        self.meta_optim = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def forward(self, x_spt, y_spt, x_qry, y_qry):
        losses, correct = [], 0
        for i in range(x_spt.size(0)):
            fast = list(self.net.parameters())
            for k in range(self.inner_steps):
                loss = F.cross_entropy(self.net(x_spt[i], fast), y_spt[i])
                grads = torch.autograd.grad(loss, fast, create_graph=True)
                fast = [p - self.inner_lr * g for p, g in zip(fast, grads)]
            logits = self.net(x_qry[i], fast)
            losses.append(F.cross_entropy(logits, y_qry[i]))
            with torch.no_grad():
                correct += (logits.argmax(dim=1) == y_qry[i]).sum().item()
        self.meta_optim.zero_grad()
        (sum(losses) / len(losses)).backward()
        self.meta_optim.step()
        return correct / y_qry.numel()


def tasks(count=4):
    return (torch.randn(count, 5, 16).cuda(), torch.arange(5).repeat(count, 1).cuda(),
            torch.randn(count, 15, 16).cuda(), torch.arange(5).repeat(count, 3).cuda())


def main():
    meta = Meta().cuda()
    for step in range(40):
        accuracy = meta(*tasks())
        if step % 10 == 0:
            print("step", step, type(accuracy).__name__)


main()
