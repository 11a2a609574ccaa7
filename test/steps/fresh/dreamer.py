# step: loop at line 65; iterations 300
"""A world model: act five steps, then train the model on sequences and the actor in imagination,
after NM512/dreamerv3-torch."""
import numpy as np
import torch
from torch import nn


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.post = nn.GRUCell(10, 24), nn.Linear(32, 8)
        self.prior, self.decode, self.reward = nn.Linear(24, 8), nn.Linear(32, 8), nn.Linear(32, 1)

    def img(self, h, z, a):
        h = self.cell(torch.cat([z, a], -1), h)
        return h, torch.tanh(self.prior(h))

    def obs(self, h, z, a, o):
        h, prior = self.img(h, z, a)
        return h, torch.tanh(self.post(torch.cat([h, o], -1))), prior


world, actor, value = World().cuda(), nn.Linear(32, 2).cuda(), nn.Linear(32, 1).cuda()
opts = [torch.optim.Adam(m.parameters(), lr=1e-3) for m in (world, actor, value)]
replay = []


def act(h, z, o):
    with torch.no_grad():
        o = torch.as_tensor(o, dtype=torch.float32).cuda()[None]
        a = torch.tanh(actor(torch.cat([h, z], -1)))
        h, z, _ = world.obs(h, z, a, o)
    return h, z, a.cpu().numpy()[0]


def train():
    chosen = [replay[i] for i in np.random.randint(0, len(replay), 8)]
    o, a = (torch.from_numpy(np.stack(k)).cuda() for k in zip(*chosen))
    h, z, loss, states = torch.zeros(8, 24).cuda(), torch.zeros(8, 8).cuda(), 0, []
    for t in range(4):
        h, z, prior = world.obs(h, z, a[:, t], o[:, t])
        s = torch.cat([h, z], -1)
        loss = loss + (world.decode(s) - o[:, t]).pow(2).mean() + (prior - z).pow(2).mean()
        states.append(s.detach())
    opts[0].zero_grad()
    loss.backward()
    opts[0].step()
    s = torch.cat(states)
    h, z, gain = s[:, :24], s[:, 24:], 0
    for t in range(5):
        a = torch.tanh(actor(torch.cat([h, z], -1)))
        h, z = world.img(h, z, a)
        gain = gain + world.reward(torch.cat([h, z], -1)).mean()
    opts[1].zero_grad()
    (-gain).backward()
    opts[1].step()
    opts[2].zero_grad()
    (value(s) - gain.detach()).pow(2).mean().backward()
    opts[2].step()


h, z, o = torch.zeros(1, 24).cuda(), torch.zeros(1, 8).cuda(), np.zeros(8)
episode = []
for step in range(300):
    h, z, a = act(h, z, o)
    o = np.roll(o, 1) + a.sum() * 0.1
    episode.append((o.astype(np.float32), a))
    if len(episode) == 5:
        replay.append(tuple(np.stack(k) for k in zip(*episode)))
        episode = []
        train()
