# step: loop at line 60; iterations 15; or: loop at line 29; iterations 360
"""Federated averaging after adap/flower: in each round a server asks sampled clients, on a thread
pool, to fit; it averages their weights and evaluates them."""
import concurrent.futures
import random

import torch
from torch import nn

ROUNDS, CLIENTS, SAMPLED, EPOCHS, BATCHES = 15, 8, 4, 2, 3
device = torch.device("cuda")


def make_model():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 5)).to(device)


class Client:
    def __init__(self, number):
        self.model, self.number = make_model(), number
        generator = torch.Generator().manual_seed(number)
        self.data = [(torch.randn(8, 16, generator=generator),
                      torch.randint(5, (8,), generator=generator)) for _ in range(BATCHES)]

    def fit(self, parameters):
        self.model.load_state_dict(parameters)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(EPOCHS):
            for x, y in self.data:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(self.model(x.to(device)), y.to(device))
                loss.backward()
                optimizer.step()
        return self.model.state_dict(), len(self.data)


class Server:
    def __init__(self, clients):
        self.clients, self.model = clients, make_model()
        self.test = torch.randn(64, 16), torch.randint(5, (64,))

    def fit_round(self, pool):
        parameters = self.model.state_dict()
        futures = [pool.submit(client.fit, parameters)
                   for client in random.sample(self.clients, SAMPLED)]
        results = [future.result() for future in concurrent.futures.as_completed(futures)]
        total = sum(count for _, count in results)
        self.model.load_state_dict({key: sum(state[key] * (count / total)
                                             for state, count in results)
                                    for key in parameters})

    def evaluate(self):
        with torch.no_grad():
            x, y = (t.to(device) for t in self.test)
            return (self.model(x).argmax(1) == y).float().mean().item()


server, rounds = Server([Client(n) for n in range(CLIENTS)]), 0
with concurrent.futures.ThreadPoolExecutor(SAMPLED) as pool:
    for current in range(1, ROUNDS + 1):
        server.fit_round(pool)
        print("round", current, server.evaluate())
        rounds += 1
print("COUNT", rounds, rounds * SAMPLED * EPOCHS * BATCHES)
