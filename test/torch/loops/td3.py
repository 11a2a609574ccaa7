"""TD3: an environment on the host, two critics with one optimizer; actor and targets are updated
every other step."""
import copy
import random

import torch
from torch import nn

import marks

OBSERVED, ACTIONS, LEARNING_STARTS, POLICY_FREQUENCY = 8, 2, 25, 2


def critic():
    return nn.Sequential(nn.Linear(OBSERVED + ACTIONS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                         nn.Linear(64, 1)).cuda()


actor = nn.Sequential(nn.Linear(OBSERVED, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                      nn.Linear(64, ACTIONS), nn.Tanh()).cuda()
q1, q2 = critic(), critic()
target_actor, target_q1, target_q2 = copy.deepcopy(actor), copy.deepcopy(q1), copy.deepcopy(q2)
of_actor = torch.optim.Adam(actor.parameters(), lr=3e-4)
of_critics = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=3e-4)
memory, observation = [], torch.randn(OBSERVED)
for step in range(250):
    if step < LEARNING_STARTS:
        action = torch.rand(ACTIONS) * 2 - 1
    else:
        with torch.no_grad():
            action = actor(observation.cuda())
            action += torch.normal(0, 0.1, action.shape, device="cuda")
            action = action.cpu().clamp(-1, 1)
    following, reward, done = (observation * 0.9 + torch.randn(OBSERVED) * 0.1, float(action.sum()),
                               random.random() < 0.02)
    memory.append((observation, action, reward, following, done))
    observation = torch.randn(OBSERVED) if done else following
    if step < LEARNING_STARTS:
        continue
    observations, actions, rewards, followings, dones = zip(*random.choices(memory, k=32))
    observations, actions, followings = (torch.stack(x).cuda()
                                         for x in (observations, actions, followings))
    rewards, dones = torch.tensor(rewards).cuda(), torch.tensor(dones, dtype=torch.float32).cuda()
    with torch.no_grad():
        noise = (torch.randn_like(actions) * 0.2).clamp(-0.5, 0.5)
        following_actions = (target_actor(followings) + noise).clamp(-1, 1)
        inputs = torch.cat([followings, following_actions], 1)
        value = torch.min(target_q1(inputs), target_q2(inputs))
        value = rewards + (1 - dones) * 0.99 * value.view(-1)
    inputs = torch.cat([observations, actions], 1)
    loss = (nn.functional.mse_loss(q1(inputs).view(-1), value)
            + nn.functional.mse_loss(q2(inputs).view(-1), value))
    of_critics.zero_grad()
    loss.backward()
    of_critics.step()
    if step % POLICY_FREQUENCY == 0:
        loss = -q1(torch.cat([observations, actor(observations)], 1)).mean()
        of_actor.zero_grad()
        loss.backward()
        of_actor.step()
        for net, target in ((actor, target_actor), (q1, target_q1), (q2, target_q2)):
            for p, average in zip(net.parameters(), target.parameters()):
                average.data.copy_(0.005 * p.data + 0.995 * average.data)
    marks.step()
