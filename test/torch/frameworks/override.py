"""The framework's loop calls the user's loss and the user's data."""
import minitrainer
import torch


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return torch.full((32, 64), float(i), device="cuda") * 2  # data


class MyLoop(minitrainer.Loop):
    def compute_loss(self, x):
        out = self.model(x)  # model
        return (out.abs() + out.square()).mean()  # loss


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(Data(), batch_size=None)
MyLoop(minitrainer.Net(64, 3).cuda(), loader, 60).run()
