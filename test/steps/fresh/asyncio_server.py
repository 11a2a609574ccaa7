# step: loop at line 12; iterations 90
"""An asyncio service that gathers requests into batches, as LitServe and ray serve do."""
import asyncio
import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()


async def batcher(queue, total):
    served = 0
    while served < total:
        batch = [await queue.get()]
        while len(batch) < 4:
            batch.append(await queue.get())
        x = torch.stack([item[0] for item in batch]).cuda()
        with torch.no_grad():
            y = model(x).softmax(-1).cpu()
        for (_, future), row in zip(batch, y):
            future.set_result(row)
        served += len(batch)
        await asyncio.sleep(0)


async def client(queue, n):
    for _ in range(n):
        future = asyncio.get_running_loop().create_future()
        await queue.put((torch.randn(16), future))
        await future


async def main():
    queue = asyncio.Queue()
    await asyncio.gather(batcher(queue, 360), *(client(queue, 45) for _ in range(8)))


asyncio.run(main())
