"""A web server's handler: each request runs on whichever thread of the pool is free. Batches of
one, the result goes to the host at once.
"""
import os, time
from concurrent.futures import ThreadPoolExecutor
import torch

FIXED = bool(os.environ.get("FIXED"))
STAMPS = []
torch.manual_seed(0)
dev = "cuda"
LAYERS = [m for _ in range(12) for m in (torch.nn.Linear(64, 64), torch.nn.ReLU())]
net = torch.nn.Sequential(*LAYERS, torch.nn.Linear(64, 8)).to(dev).eval()


def prepare(text):
    return torch.tensor([float(ord(c) % 7) for c in text]).view(1, 64)


@torch.inference_mode()
def handle(text):
    STAMPS.append(time.perf_counter())
    x = prepare(text).to(dev)
    out = net(x)
    if FIXED:
        return out.softmax(-1).argmax().item()
    best, score = 0, -1.0
    for i in range(out.shape[1]):
        s = out.softmax(-1)[0, i].item()  # GUILTY: each class of its own, with a softmax each
        if s > score:
            best, score = i, s
    return best


with ThreadPoolExecutor(4) as pool:
    waiting = []
    for n in range(300):
        waiting.append(pool.submit(handle, chr(97 + n % 26) * 64))
        if len(waiting) >= 2:
            waiting.pop(0).result()
    for w in waiting:
        w.result()
STAMPS.append(time.perf_counter())
print("served", 300)
if os.environ.get("CASE_TIMES"):
    open(os.environ["CASE_TIMES"], "w").write("\n".join(map(str, STAMPS)))
