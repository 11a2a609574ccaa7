"""The framework makes every launch: the script only starts it."""
import minitrainer
import torch

torch.manual_seed(0)
data = [torch.randn(32, 64) for _ in range(10)]
minitrainer.Loop(minitrainer.Net(64, 3).cuda(), data, 60).run()
