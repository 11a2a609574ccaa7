# step: loop at line 41; iterations 120
"""A physics-informed network for Burgers' equation: Adam first, then a single call of L-BFGS."""
import torch
from torch import nn


class PINN:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(),
                                 nn.Linear(32, 1)).cuda()
        self.x = torch.rand(64, 1, device="cuda", requires_grad=True)
        self.t = torch.rand(64, 1, device="cuda", requires_grad=True)
        self.data, self.u = torch.rand(32, 2).cuda(), torch.rand(32, 1).cuda()
        self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        # negative tolerances: all 20 iterations run
        self.lbfgs = torch.optim.LBFGS(self.net.parameters(), max_iter=20, max_eval=40,
                                       tolerance_grad=-1, tolerance_change=-1)
        self.iter = 0

    def residual(self):
        u = self.net(torch.cat([self.x, self.t], dim=1))
        u_t = torch.autograd.grad(u, self.t, torch.ones_like(u), create_graph=True)[0]
        u_x = torch.autograd.grad(u, self.x, torch.ones_like(u), create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, self.x, torch.ones_like(u), create_graph=True)[0]
        return u_t + u * u_x - 0.01 * u_xx

    def loss(self):
        return (((self.net(self.data) - self.u) ** 2).mean() + (self.residual() ** 2).mean())

    def closure(self):
        self.lbfgs.zero_grad()
        loss = self.loss()
        loss.backward()
        self.iter += 1
        if self.iter % 10 == 0:
            print("iteration", self.iter, type(loss.item()).__name__)
        return loss

    def train(self, epochs):
        self.net.train()
        for epoch in range(epochs):
            loss = self.loss()
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            if epoch % 20 == 0:
                print("epoch", epoch, type(loss.item()).__name__)
        self.lbfgs.step(self.closure)


PINN().train(120)
