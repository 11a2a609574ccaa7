"""The loop is the user's, and calls the framework's model on one line: that line is the site."""
import minitrainer
import torch

torch.manual_seed(0)
net = minitrainer.Net(64, 3).cuda().eval()
x = torch.randn(32, 64, device="cuda")
with torch.inference_mode():
    for _ in range(200):
        y = net(x)  # model
        y.sum().item()  # read
