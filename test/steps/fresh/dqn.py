# step: loop at line 42; iterations 300
"""DQN after CleanRL: one environment step per iteration, training every second one after a warm-up,
a target network that is copied now and then."""
import random

import torch
from torch import nn

TOTAL, LEARNING_STARTS, TRAIN_EVERY, TARGET_EVERY, BATCH = 300, 60, 2, 50, 32


class ReplayBuffer:
    def __init__(self, size):
        self.obs, self.next_obs = torch.zeros(size, 4), torch.zeros(size, 4)
        self.actions = torch.zeros(size, 1, dtype=torch.long)
        self.rewards, self.dones = torch.zeros(size), torch.zeros(size)
        self.size, self.count = size, 0

    def add(self, obs, action, reward, next_obs, done):
        at = self.count % self.size
        self.obs[at], self.next_obs[at], self.actions[at] = obs, next_obs, action
        self.rewards[at], self.dones[at] = reward, done
        self.count += 1

    def sample(self):
        at = torch.randint(0, min(self.count, self.size), (BATCH,))
        return [part[at].to("cuda") for part in
                (self.obs, self.actions, self.rewards, self.next_obs, self.dones)]


def network():
    return nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU(),
                         nn.Linear(32, 2)).to("cuda")


random.seed(1)
q, target = network(), network()
target.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
buffer = ReplayBuffer(1000)
obs = torch.randn(4)
for global_step in range(TOTAL):
    epsilon = max(0.05, 1 - global_step / 150)
    if random.random() < epsilon:
        action = random.randrange(2)
    else:
        action = int(q(obs.unsqueeze(0).to("cuda")).argmax(1).cpu()[0]) % 2
    next_obs, reward, done = torch.randn(4), random.random(), random.random() < 0.05
    buffer.add(obs, action, reward, next_obs, done)
    obs = torch.randn(4) if done else next_obs
    if global_step > LEARNING_STARTS and global_step % TRAIN_EVERY == 0:
        o, a, r, n, d = buffer.sample()
        with torch.no_grad():
            best, _ = target(n).max(dim=1)
            wanted = r + 0.99 * best * (1 - d)
        loss = nn.functional.mse_loss(wanted, q(o).gather(1, a).squeeze())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if global_step > LEARNING_STARTS and global_step % TARGET_EVERY == 0:
        for kept, new in zip(target.parameters(), q.parameters()):
            kept.data.copy_(new.data)
print("steps", global_step + 1)
