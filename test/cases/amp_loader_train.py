"""Mixed precision, a DataLoader with two workers and a loss that is read in each step:
amp_loader_train.py STEPS. With long kernels the GPU limits it, with short ones launch overhead.
"""
import sys

import torch


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 100000

    def __getitem__(self, i):
        return torch.randn(3, 32, 32), i % 10


def main(n):
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(),
                              torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.ReLU(),
                              torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
                              torch.nn.Linear(64, 10)).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    loader = torch.utils.data.DataLoader(Images(), batch_size=64, num_workers=2, pin_memory=True)
    total = 0.
    for i, (x, y) in enumerate(loader):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        total += loss.item()  # GUILTY
        if i >= n:
            break
    print("done", total)


if __name__ == "__main__":
    main(int(sys.argv[1]))
