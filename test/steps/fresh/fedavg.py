# step: loop at line 24; iterations 320; or: loop at line 51; iterations 20
"""Federated averaging: in each round four clients train on their own data, then the server averages
their weights."""
import copy
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Client:
    def __init__(self, number):
        data = TensorDataset(torch.randn(64, 20), torch.randint(0, 4, (64,)))
        self.number, self.loader = number, DataLoader(data, batch_size=16, shuffle=True)

    def train(self, weights, epochs=1):
        model = make_model()
        model.load_state_dict(weights)
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        criterion = nn.CrossEntropyLoss()
        for epoch in range(epochs):
            for x, y in self.loader:
                x, y = x.cuda(), y.cuda()
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                loss.backward()
                optimizer.step()
        return {k: v.detach() for k, v in model.state_dict().items()}


class Server:
    def __init__(self, clients):
        self.clients, self.model = clients, make_model()
        self.x, self.y = torch.randn(32, 20).cuda(), torch.randint(0, 4, (32,)).cuda()

    def average(self, received):
        mean = copy.deepcopy(received[0])
        for key in mean:
            for other in received[1:]:
                mean[key] += other[key]
            mean[key] = mean[key] / len(received)
        self.model.load_state_dict(mean)

    @torch.no_grad()
    def test(self):
        return (self.model(self.x).argmax(1) == self.y).float().mean().item()

    def run(self, rounds):
        for number in range(rounds):
            chosen = random.sample(self.clients, 4)
            received = [client.train(self.model.state_dict()) for client in chosen]
            self.average(received)
            self.test()
        print("rounds", number + 1)


def make_model():
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()


random.seed(3)
Server([Client(i) for i in range(10)]).run(20)
