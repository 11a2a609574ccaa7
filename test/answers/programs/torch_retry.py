"""Little memory is left, and blocks kept for one stream are of no use to another: for a new one the allocator must give
back what it keeps, which waits for the device, and try again. The mended twin has enough."""
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


def step(_, mended):
    scratch = workspace(streams[0])
    torch_kit.train(model, optimizer, inputs, targets)
    del scratch
    scratch = workspace(streams[1])
    inputs.add(targets).relu_().mul_(inputs).sum()
    del scratch


def start(mended):
    torch_kit.train(model, optimizer, inputs, targets)  # cuBLAS has its workspace, as large as the device's kind wants it
    torch.cuda.empty_cache()
    kept = torch.cuda.memory_reserved()
    torch.cuda.set_per_process_memory_fraction((kept + ((300 if mended else 100) << 20)) / MEMORY)


kit.measure(step, torch.cuda.synchronize, start)
