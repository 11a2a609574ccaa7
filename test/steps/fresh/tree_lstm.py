# step: loop at line 65; iterations 120
"""A child-sum Tree-LSTM: recursion over trees of different shapes, a backward pass per tree, the
optimizer every twelve trees."""
import random

import torch
from torch import nn

BATCH = 12


class Tree:
    def __init__(self):
        self.children, self.state = [], None

    def size(self):
        return 1 + sum(child.size() for child in self.children)


def random_tree(depth):
    tree = Tree()
    tree.word = random.randrange(50)
    if depth > 0:
        tree.children = [random_tree(depth - 1 - random.randrange(2))
                         for _ in range(random.choice((1, 2, 2)))]
    return tree


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, in_dim=16, mem_dim=16):
        super().__init__()
        self.mem_dim = mem_dim
        self.embed = nn.Embedding(50, in_dim)
        self.ioux, self.iouh = nn.Linear(in_dim, 3 * mem_dim), nn.Linear(mem_dim, 3 * mem_dim)
        self.fx, self.fh = nn.Linear(in_dim, mem_dim), nn.Linear(mem_dim, mem_dim)
        self.classify = nn.Linear(mem_dim, 5)

    def node(self, x, child_c, child_h):
        i, o, u = (self.ioux(x) + self.iouh(child_h.sum(dim=0, keepdim=True))).chunk(3, dim=1)
        f = torch.sigmoid(self.fh(child_h) + self.fx(x).expand_as(child_h))
        c = torch.sigmoid(i) * torch.tanh(u) + (f * child_c).sum(dim=0, keepdim=True)
        return c, torch.sigmoid(o) * torch.tanh(c)

    def forward(self, tree):
        for child in tree.children:
            self.forward(child)
        x = self.embed(torch.tensor([tree.word]).cuda())
        if tree.children:
            c, h = (torch.cat(part) for part in zip(*(child.state for child in tree.children)))
        else:
            c = h = torch.zeros(1, self.mem_dim, device="cuda")
        tree.state = self.node(x, c, h)
        return tree.state


class Trainer:
    def __init__(self, model):
        self.model, self.criterion = model, nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)

    def train(self, trees, labels):
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for index in torch.randperm(len(trees)).tolist():
            _, hidden = self.model(trees[index])
            output = self.model.classify(hidden)
            loss = self.criterion(output, torch.tensor([labels[index]]).cuda())
            total += loss.item()
            loss.backward()
            self.seen += 1
            if self.seen % BATCH == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        return total / len(trees)

    seen = 0


random.seed(2)
trees = [random_tree(2) for _ in range(60)]
trainer = Trainer(ChildSumTreeLSTM().cuda())
for epoch in range(2):
    trainer.train(trees, [random.randrange(5) for _ in trees])
print("trees", trainer.seen)
