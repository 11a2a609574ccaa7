"""Captures a step into a CUDA graph, as the PyTorch documentation shows it."""
import torch


def captured(step, warm_up=3):
    """Returns the graph of a step, and the step's result."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()
    return graph, out
