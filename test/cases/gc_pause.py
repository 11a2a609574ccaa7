"""A loader makes many Python objects in cycles, so Python's collector rarely, but then for long,
stops a step.
"""
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(*[m for _ in range(8)
                            for m in (torch.nn.Linear(96, 96), torch.nn.ReLU())]).cuda()
opt = torch.optim.SGD(net.parameters(), 0.01)
documents = [[i, str(i)] for i in range(900000)]  # tokenized documents that stay


class Row:
    def __init__(self, i):
        self.i, self.me = i, self


def next_batch(step):
    rows = [Row(i) for i in range(700)]
    documents.extend([r.i, str(r.i)] for r in rows for _ in range(3))  # GUILTY
    return torch.full((32, 96), float(step))


for step in range(300):
    x = next_batch(step).pin_memory().to("cuda", non_blocking=True)
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        torch.cuda.synchronize()
torch.cuda.synchronize()
print("trained", len(documents) > 0)
