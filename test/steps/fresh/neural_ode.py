# step: loop at line 57; iterations 50
"""A neural ODE after torchdiffeq's demo: a fixed-grid RK4 solver inside the loss, a test of the
whole trajectory now and then."""
import time

import torch
from torch import nn, optim

TRUE_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]).cuda()


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y ** 3, TRUE_A)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))

    def forward(self, t, y):
        return self.net(y ** 3)


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(func, y0, times):
    solution = [y0]
    for t0, t1 in zip(times[:-1], times[1:]):
        solution.append(rk4_step(func, t0, t1 - t0, solution[-1]))
    return torch.stack(solution)


times = [i * 0.1 for i in range(41)]
y0 = torch.tensor([[2.0, 0.0]]).cuda()
with torch.no_grad():
    true_y = odeint(Lambda(), y0, times)


def get_batch(size=16, length=8):
    start = torch.randperm(len(times) - length)[:size].tolist()
    return (torch.stack([true_y[s] for s in start]).squeeze(1), times[:length],
            torch.stack([true_y[s:s + length] for s in start], dim=1).squeeze(2))


if __name__ == "__main__":
    func = ODEFunc().cuda()
    optimizer = optim.RMSprop(func.parameters(), lr=1e-3)
    end, average = time.time(), 0.97
    for itr in range(1, 51):
        optimizer.zero_grad()
        batch_y0, batch_t, batch_y = get_batch()
        pred_y = odeint(func, batch_y0, batch_t)
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        average = 0.97 * average + 0.03 * loss.item()
        if itr % 20 == 0:
            with torch.no_grad():
                whole = odeint(func, y0, times)
                print("iter", itr, type(torch.mean(torch.abs(whole - true_y)).item()).__name__)
