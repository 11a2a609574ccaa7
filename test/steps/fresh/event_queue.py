# step: loop at line 45; iterations 607
"""Event-driven simulation after salabim and SimPy: a heap of events, whose handlers schedule new
ones and use the GPU by ctypes, each in its own way."""
import ctypes
import heapq
import itertools
import random

import numpy as np

UNTIL = 60.0
cudart = ctypes.CDLL("libcudart.so.13")
random.seed(2)


def cuda(name, *arguments):
    status = getattr(cudart, name)(*arguments)
    assert status == 0, (name, status)


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


class Simulation:
    def __init__(self):
        self.now, self.heap, self.number, self.events = 0.0, [], itertools.count(), 0
        self.memory = ctypes.c_void_p()
        cuda("cudaMalloc", ctypes.byref(self.memory), ctypes.c_size_t(1 << 14))
        self.state = np.zeros(256, np.float32)

    def schedule(self, delay, handler, *arguments):
        heapq.heappush(self.heap, (self.now + delay, next(self.number), handler, arguments))

    def upload(self, size=1024):
        cuda("cudaMemcpy", self.memory, pointer(self.state), ctypes.c_size_t(size), 1)

    def download(self, size=1024):
        cuda("cudaMemcpy", pointer(self.state), self.memory, ctypes.c_size_t(size), 2)

    def fill(self, size=512):
        cuda("cudaMemset", self.memory, 0, ctypes.c_size_t(size))

    def run(self, until):
        while self.heap:
            self.now, _, handler, arguments = heapq.heappop(self.heap)
            if self.now > until:
                break
            handler(*arguments)
            self.events += 1
        return self.events


simulation = Simulation()


def arrive(station):
    simulation.upload()
    simulation.fill()
    simulation.schedule(random.expovariate(1.2), arrive, station)
    simulation.schedule(random.uniform(0.1, 0.6), serve, station, 1)


def serve(station, tries):
    simulation.fill(64)
    simulation.fill(128)
    simulation.download(256)
    if random.random() < 0.3 and tries < 4:
        simulation.schedule(0.2, serve, station, tries + 1)
    elif random.random() < 0.5:
        simulation.schedule(0.05, depart, station)


def depart(station):
    simulation.download()


def audit():
    for _ in range(3):
        simulation.upload(64)
    simulation.download()
    simulation.schedule(5.0, audit)


for station in range(3):
    simulation.schedule(station * 0.1, arrive, station)
simulation.schedule(5.0, audit)
print("COUNT", simulation.run(UNTIL))
