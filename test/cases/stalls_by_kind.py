"""The CPU does not work in each step, but does what the first argument says: sleeps, waits for a
lock, waits for another thread, or collects garbage."""
import gc
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

STEPS, STALL_S = 120, 0.005
lock, done = threading.Lock(), threading.Event()
pool = ThreadPoolExecutor(1)


def hold():
    while not done.is_set():
        with lock:
            time.sleep(STALL_S)
        time.sleep(0.0002)


def sleeps():
    time.sleep(STALL_S)  # GUILTY sleep


def waits_for_lock():
    with lock:  # GUILTY lock
        pass


def waits_for_thread():
    pool.submit(time.sleep, STALL_S).result()  # GUILTY thread


def collects():
    gc.collect()  # GUILTY gc


stall = {"sleep": sleeps, "lock": waits_for_lock, "thread": waits_for_thread,
         "gc": collects}[sys.argv[1]]
if sys.argv[1] == "lock":
    threading.Thread(target=hold, daemon=True).start()
cycles = [[i] for i in range(60000)] if sys.argv[1] == "gc" else []
net = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(),
                          torch.nn.Linear(128, 10)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(STEPS):
    loss = net(torch.ones(64, 128, device="cuda")).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    stall()
done.set()
torch.cuda.synchronize()
