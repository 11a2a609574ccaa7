# step: loop at line 67; iterations 90
"""IMPALA after facebookresearch/torchbeast (polybeast): actors send observations to an inference
thread that batches them, and unrolls to a queue that two learner threads empty in turn."""
import queue
import threading

import numpy as np
import torch
from torch import nn

ACTORS, UNROLL, BATCH, TOTAL = 6, 5, 4, 90
device = torch.device("cuda")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.policy, self.baseline = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, frame):
        x = self.body(frame)
        logits = self.policy(x)
        return logits.argmax(-1), logits, self.baseline(x).squeeze(-1)


class Request:
    def __init__(self, frame):
        self.frame, self.answer, self.done = frame, None, threading.Event()


def inference(batcher, model):
    with torch.no_grad():
        while True:
            requests = [batcher.get()]
            while len(requests) < ACTORS:
                try:
                    requests.append(batcher.get(timeout=0.002))
                except queue.Empty:
                    break
            if any(request is None for request in requests):
                return
            frame = torch.from_numpy(np.stack([r.frame for r in requests])).to(device)
            action, logits, _ = model(frame)
            action, logits = action.cpu(), logits.cpu()
            for n, request in enumerate(requests):
                request.answer = action[n], logits[n]
                request.done.set()


def act(number, batcher, learner_queue, stop):
    generator = np.random.default_rng(number)
    while not stop.is_set():
        frames, behaviour = [], []
        for _ in range(UNROLL + 1):
            request = Request(generator.standard_normal(12, dtype=np.float32))
            batcher.put(request)
            request.done.wait(5)
            if request.answer is None:
                return
            frames.append(request.frame)
            behaviour.append(request.answer[1])
        learner_queue.put((torch.from_numpy(np.stack(frames)), torch.stack(behaviour)))


def learn(learner_queue, model, actor_model, optimizer, stats, lock):
    while True:
        unrolls = [learner_queue.get() for _ in range(BATCH)]
        frames, behaviour = (torch.stack(x, 1).to(device) for x in zip(*unrolls))
        with lock:
            if stats["step"] >= TOTAL:
                return
            _, logits, baseline = model(frames)
            rhos = torch.exp(logits.max(-1).values - behaviour.max(-1).values).clamp(max=1.0)
            bootstrap, values = baseline[-1], baseline[:-1]
            targets = values.detach() + rhos[:-1].detach() * (1 - values.detach())
            loss = ((targets - values) ** 2).sum() - (rhos * logits.log_softmax(-1).mean(-1)).sum()
            loss = loss + 0.01 * bootstrap.sum()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 40.0)
            optimizer.step()
            actor_model.load_state_dict(model.state_dict())
            stats["step"] += 1
            stats["loss"] = loss.item()


def main():
    model, actor_model = Net().to(device), Net().to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=4e-4, alpha=0.99)
    batcher, learner_queue = queue.Queue(), queue.Queue(maxsize=BATCH * 2)
    stats, lock, stop = {"step": 0}, threading.Lock(), threading.Event()
    learners = [threading.Thread(target=learn, args=(learner_queue, model, actor_model, optimizer,
                                                     stats, lock)) for _ in range(2)]
    inferer = threading.Thread(target=inference, args=(batcher, actor_model))
    actors = [threading.Thread(target=act, args=(n, batcher, learner_queue, stop), daemon=True)
              for n in range(ACTORS)]
    for thread in learners + [inferer] + actors:
        thread.start()
    for thread in learners:
        thread.join()
    stop.set()
    batcher.put(None)
    inferer.join()
    print("COUNT", stats["step"])


main()
