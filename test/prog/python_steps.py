#!/usr/bin/env python3
"""Steps that are calls of a function, for PROF_STEP=python: of which demo.py's model makes the launches.

usage: python_steps.py STEPS EVALUATE_EVERY [decode|decode-alone]     0: never. Behind each step tokens are decoded, or instead of it.
"""
import ctypes
import sys

from demo import TO_DEVICE, TO_HOST, Cuda, Model
from known import pace

STEPS, EVALUATE_EVERY, DECODE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]


class Trainer:
    def __init__(self):
        self.cuda = Cuda()
        self.model = Model(self.cuda)
        self.device = self.cuda.made("Malloc", ctypes.c_size_t(4096))
        self.host = ctypes.c_float()

    def forward(self):
        return self.model.forward()

    def train_step(self):
        self.cuda.MemcpyAsync(self.device, ctypes.byref(self.host), ctypes.c_size_t(4), TO_DEVICE, self.model.compute)
        kept = self.forward()
        self.model.backward(kept)
        self.model.optimize()

    def evaluate(self):
        for _ in range(3):
            for activation in self.forward():
                self.cuda.FreeAsync(activation, self.model.compute)
        self.cuda.MemcpyAsync(ctypes.byref(self.host), self.device, ctypes.c_size_t(4), TO_HOST, self.model.compute)
        self.cuda.StreamSynchronize(self.model.compute)

    def decode(self):
        for _ in range(6):
            for activation in self.forward():
                self.cuda.FreeAsync(activation, self.model.compute)
            self.cuda.MemcpyAsync(ctypes.byref(self.host), self.device, ctypes.c_size_t(4), TO_HOST, self.model.compute)


def never_called():
    pass


def main():
    trainer = Trainer()
    trainer.model.zero_grad()  # set-up
    trainer.model.zero_grad()
    for step in range(STEPS):
        if DECODE != ["decode-alone"]:
            trainer.train_step()
        if DECODE:
            trainer.decode()
        if EVALUATE_EVERY and step % EVALUATE_EVERY == EVALUATE_EVERY - 1:
            trainer.evaluate()
        pace()
    print(f"{STEPS} steps")


main()
