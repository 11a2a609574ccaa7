"""Short epochs, and a loader that starts its workers again for each of them."""
import torch


class Crops(torch.utils.data.Dataset):
    def __init__(self):
        self.index = [(i, str(i)) for i in range(200000)]

    def __len__(self):
        return 25 * 16

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(64, generator=g), i % 10


def main():
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[m for _ in range(8)
                                for m in (torch.nn.Linear(64, 64), torch.nn.ReLU())],
                              torch.nn.Linear(64, 10)).cuda()
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(Crops(), 16, num_workers=2, pin_memory=True, shuffle=True)
    seen = 0
    for _ in range(8):
        for x, y in loader:  # GUILTY
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = torch.nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen += len(x)
    torch.cuda.synchronize()
    print("seen", seen)


if __name__ == "__main__":
    main()
