"""PyTorch's automatic mixed precision recipe: autocast, GradScaler, unscaled gradients clipped."""
import sys

import torch


def make_model(in_size, out_size, num_layers):
    layers = []
    for _ in range(num_layers - 1):
        layers += [torch.nn.Linear(in_size, in_size), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(in_size, out_size)).cuda()


steps = int(sys.argv[1])
data = [torch.randn(64, 128) for _ in range(steps)]
targets = [torch.randn(64, 128) for _ in range(steps)]
net = make_model(128, 128, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.001)
loss_fn = torch.nn.MSELoss().cuda()
scaler = torch.amp.GradScaler("cuda")
for input, target in zip(data, targets):
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        output = net(input.cuda())
        assert output.dtype is torch.float16
        loss = loss_fn(output, target.cuda())
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.1)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
print("scale", scaler.get_scale())
