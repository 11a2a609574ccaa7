# step: loop at line 72; iterations 83
"""Continuous batching after vllm-project/vllm: clients are coroutines that await tokens; an engine
task schedules prefill or decode of the running requests, and runs it in an executor."""
import asyncio
import random

import torch
from torch import nn

REQUESTS, SEATS, WIDTH, VOCABULARY = 40, 6, 32, 90
device = torch.device("cuda")
random.seed(5)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return self.head(x)


class Request:
    def __init__(self, prompt, count):
        self.tokens, self.left, self.queue = prompt, count, asyncio.Queue()


class Engine:
    def __init__(self):
        self.model, self.waiting, self.running = Model().to(device), [], []
        self.arrived, self.steps, self.open = asyncio.Event(), 0, True

    async def generate(self, prompt, count):
        request = Request(prompt, count)
        self.waiting.append(request)
        self.arrived.set()
        while (token := await request.queue.get()) is not None:
            yield token

    @torch.inference_mode()
    def execute(self, requests, prefill):
        if prefill:
            flat = torch.tensor([t for r in requests for t in r.tokens], device=device)
            ends = torch.tensor([len(r.tokens) for r in requests], device=device).cumsum(0) - 1
            logits = self.model(flat)[ends.clamp(0, len(flat) - 1)]
        else:
            logits = self.model(torch.tensor([r.tokens[-1] for r in requests], device=device))
        return logits.argmax(-1).clamp(0, VOCABULARY - 1).cpu().tolist()

    async def step(self):
        new = self.waiting[:SEATS - len(self.running)]
        del self.waiting[:len(new)]
        batch = new or self.running
        tokens = await asyncio.get_running_loop().run_in_executor(None, self.execute, batch,
                                                                  bool(new))
        self.running += new
        for request, token in zip(batch, tokens):
            request.tokens.append(token)
            request.left -= 1
            request.queue.put_nowait(token)
            if request.left <= 0:
                request.queue.put_nowait(None)
                self.running.remove(request)
        self.steps += 1

    async def run(self):
        while self.open:
            if not self.waiting and not self.running:
                self.arrived.clear()
                await self.arrived.wait()
                if not self.open:
                    break
            await self.step()
            await asyncio.sleep(0)


async def client(engine, number):
    await asyncio.sleep(0)
    prompt = [random.randrange(VOCABULARY) for _ in range(random.randint(3, 12))]
    return [token async for token in engine.generate(prompt, 4 + number % 9)]


async def main():
    engine = Engine()
    task = asyncio.create_task(engine.run())
    answers = await asyncio.gather(*(client(engine, n) for n in range(REQUESTS)))
    engine.open = False
    engine.arrived.set()
    await task
    print("COUNT", engine.steps, sum(map(len, answers)))


asyncio.run(main())
