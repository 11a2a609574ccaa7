# step: loop at line 42; iterations 20; or: loop at line 67; iterations 160
"""PPO after CleanRL: a rollout on vectorized environments, then epochs of shuffled minibatches."""
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

NUM_UPDATES, NUM_STEPS, NUM_ENVS, EPOCHS, MINIBATCHES = 20, 8, 4, 2, 4


class Envs:
    def reset(self):
        return np.random.randn(NUM_ENVS, 6).astype(np.float32)

    def step(self, action):
        done = np.random.rand(NUM_ENVS) < 0.02
        return self.reset(), np.cos(action), done


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 3))

    def act(self, x, action=None):
        probs = Categorical(logits=self.actor(x), validate_args=False)
        if action is None:
            action = probs.logits.argmax(-1)
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


device = torch.device("cuda")
envs, agent = Envs(), Agent().to(device)
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
obs = torch.zeros(NUM_STEPS, NUM_ENVS, 6, device=device)
actions = torch.zeros(NUM_STEPS, NUM_ENVS, dtype=torch.long, device=device)
logprobs, rewards, dones, values = (torch.zeros(NUM_STEPS, NUM_ENVS, device=device)
                                    for _ in range(4))
next_obs, next_done = torch.tensor(envs.reset(), device=device), torch.zeros(NUM_ENVS).to(device)
batch = NUM_STEPS * NUM_ENVS
for update in range(1, NUM_UPDATES + 1):
    optimizer.param_groups[0]["lr"] = 2.5e-4 * (1 - (update - 1) / NUM_UPDATES)
    for step in range(NUM_STEPS):
        obs[step], dones[step] = next_obs, next_done
        with torch.no_grad():
            action, logprob, _, value = agent.act(next_obs)
            values[step] = value.flatten()
        actions[step], logprobs[step] = action, logprob
        observed, reward, done = envs.step(action.cpu().numpy())
        rewards[step] = torch.tensor(reward, dtype=torch.float32).to(device).view(-1)
        next_obs, next_done = torch.tensor(observed).to(device), torch.Tensor(done).to(device)
    with torch.no_grad():
        next_value = agent.critic(next_obs).reshape(1, -1)
        advantages, last = torch.zeros_like(rewards), 0
        for t in reversed(range(NUM_STEPS)):
            alive = 1 - (next_done if t == NUM_STEPS - 1 else dones[t + 1])
            following = next_value if t == NUM_STEPS - 1 else values[t + 1]
            delta = rewards[t] + 0.99 * following * alive - values[t]
            advantages[t] = last = delta + 0.99 * 0.95 * alive * last
        returns = advantages + values
    b_obs, b_logprobs, b_actions = obs.reshape(-1, 6), logprobs.reshape(-1), actions.reshape(-1)
    b_advantages, b_returns = advantages.reshape(-1), returns.reshape(-1)
    indices = np.arange(batch)
    for epoch in range(EPOCHS):
        np.random.shuffle(indices)
        for start in range(0, batch, batch // MINIBATCHES):
            mb = torch.as_tensor(indices[start:start + batch // MINIBATCHES], device=device)
            _, newlogprob, entropy, newvalue = agent.act(b_obs[mb], b_actions[mb])
            ratio = (newlogprob - b_logprobs[mb]).exp()
            adv = b_advantages[mb]
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
            v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb]) ** 2).mean()
            loss = pg_loss - 0.01 * entropy.mean() + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    explained = 1 - np.var(b_returns.cpu().numpy())
print("updates", update)
