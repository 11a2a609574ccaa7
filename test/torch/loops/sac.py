"""SAC: two critics with an optimizer each. Every other step makes two updates of the actor and of
the temperature, as implementations do to compensate for the delay."""
import copy
import random

import torch
from torch import nn

import marks

OBSERVED, ACTIONS, LEARNING_STARTS, POLICY_FREQUENCY = 6, 2, 20, 2


def net(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                         nn.Linear(64, outputs)).cuda()


actor, q1, q2 = net(OBSERVED, 2 * ACTIONS), net(OBSERVED + ACTIONS, 1), net(OBSERVED + ACTIONS, 1)
target_q1, target_q2 = copy.deepcopy(q1), copy.deepcopy(q2)
log_alpha = torch.zeros(1, device="cuda", requires_grad=True)
of_actor, of_q1, of_q2, of_alpha = (
    torch.optim.Adam(p, lr=3e-4)
    for p in (actor.parameters(), q1.parameters(), q2.parameters(), [log_alpha]))


def act(observations):
    mean, log_std = actor(observations).chunk(2, -1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp(), validate_args=False)
    x = normal.rsample()
    action = torch.tanh(x)
    return action, (normal.log_prob(x) - torch.log(1 - action.pow(2) + 1e-6)).sum(-1, keepdim=True)


memory, observation = [], torch.randn(OBSERVED)
for step in range(200):
    if step < LEARNING_STARTS:
        action = torch.rand(ACTIONS) * 2 - 1
    else:
        with torch.no_grad():
            action = act(observation.cuda())[0].cpu()
    following, reward = observation * 0.9 + torch.randn(OBSERVED) * 0.1, float(action.sum())
    memory.append((observation, action, torch.tensor([reward]), following))
    observation = following
    if step < LEARNING_STARTS:
        continue
    observations, actions, rewards, followings = (torch.stack(x).cuda()
                                                  for x in zip(*random.choices(memory, k=32)))
    with torch.no_grad():
        following_actions, log_p = act(followings)
        inputs = torch.cat([followings, following_actions], 1)
        value = torch.min(target_q1(inputs), target_q2(inputs)) - log_alpha.exp() * log_p
        value = rewards + 0.99 * value
    inputs = torch.cat([observations, actions], 1)
    for q, of_q in ((q1, of_q1), (q2, of_q2)):
        loss = nn.functional.mse_loss(q(inputs), value)
        of_q.zero_grad()
        loss.backward()
        of_q.step()
    if step % POLICY_FREQUENCY == 0:
        for _ in range(POLICY_FREQUENCY):
            chosen, log_p = act(observations)
            inputs = torch.cat([observations, chosen], 1)
            loss = (log_alpha.exp().detach() * log_p - torch.min(q1(inputs), q2(inputs))).mean()
            of_actor.zero_grad()
            loss.backward()
            of_actor.step()
            with torch.no_grad():
                log_p = act(observations)[1]
            loss = (-log_alpha.exp() * (log_p - ACTIONS)).mean()
            of_alpha.zero_grad()
            loss.backward()
            of_alpha.step()
    for q, target in ((q1, target_q1), (q2, target_q2)):
        for p, average in zip(q.parameters(), target.parameters()):
            average.data.mul_(0.995).add_(p.data, alpha=0.005)
    marks.step()
