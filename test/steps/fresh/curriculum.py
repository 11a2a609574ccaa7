# step: loop at line 39; iterations 160
"""A curriculum: the sequences get longer and the batches smaller from stage to stage, and the
loader is made anew for each; the network itself unrolls over time."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

STAGES = [(4, 32, 60), (8, 16, 50), (12, 8, 30), (16, 4, 20)]  # length, batch size, iterations


class CopyNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.width = width
        self.read, self.write = nn.LSTMCell(8, width), nn.Linear(width, 8)

    def forward(self, sequence):
        h = c = sequence.new_zeros(sequence.size(0), self.width)
        for t in range(sequence.size(1)):
            h, c = self.read(sequence[:, t], (h, c))
        outputs = []
        blank = sequence.new_zeros(sequence.size(0), 8)
        for t in range(sequence.size(1)):
            h, c = self.read(blank, (h, c))
            outputs.append(self.write(h))
        return torch.stack(outputs, dim=1)


def batches(length, size, count):
    data = torch.randint(0, 2, (size * count, length, 8)).float()
    return DataLoader(TensorDataset(data), batch_size=size, shuffle=True)


net = CopyNet().to("cuda")
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-4, alpha=0.95, momentum=0.9)
done = 0
for stage, (length, size, count) in enumerate(STAGES):
    for (sequence,) in batches(length, size, count):
        sequence = sequence.to("cuda")
        loss = F.binary_cross_entropy_with_logits(net(sequence), sequence)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 10)
        optimizer.step()
        done += 1
        if done % 25 == 0:
            print("stage", stage, "batch", done, type(loss.item()).__name__)
print("done", done)
