"""Little memory is left, and cached blocks of one stream cannot be used by another.

For a new block the allocator must free its cache, which waits for the device, and retry. The fixed
twin has enough memory.
"""
import torch

import kit
import torch_kit

SIZE = 60 << 20
MEMORY = torch.cuda.get_device_properties(0).total_memory
model = torch_kit.mlp(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()


streams = [torch.cuda.current_stream(), torch.cuda.Stream()]


def workspace(stream):
    with torch.cuda.stream(stream):
        return torch.empty(SIZE, dtype=torch.uint8, device=torch_kit.DEVICE)  # PLANTED


def step(_, fixed):
    scratch = workspace(streams[0])
    torch_kit.train(model, optimizer, inputs, targets)
    del scratch
    scratch = workspace(streams[1])
    inputs.add(targets).relu_().mul_(inputs).sum()
    del scratch


def start(fixed):
    # First cuBLAS allocates its workspace, whose size depends on the device.
    torch_kit.train(model, optimizer, inputs, targets)
    torch.cuda.empty_cache()
    kept = torch.cuda.memory_reserved()
    torch.cuda.set_per_process_memory_fraction((kept + ((300 if fixed else 100) << 20)) / MEMORY)


kit.measure(step, torch.cuda.synchronize, start)
