"""nn.Transformer, encoder and decoder, learning to copy: masks, label smoothing, Adam with a
warm-up."""
import sys

import torch
from torch import nn

WORDS, WIDTH, LENGTH = 100, 64, 12


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.transformer = nn.Transformer(WIDTH, 4, num_encoder_layers=2, num_decoder_layers=2,
                                          dim_feedforward=128, batch_first=True)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1), device=target.device)
        return self.head(self.transformer(self.embedding(source), self.embedding(target),
                                          tgt_mask=mask))


torch.manual_seed(0)
model = Seq2Seq().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for step in range(int(sys.argv[1])):
    source = torch.randint(0, WORDS, (8, LENGTH)).cuda()
    loss = criterion(model(source, source[:, :-1]).transpose(1, 2), source[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    warm_up.step()
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.item():.4f} lr {warm_up.get_last_lr()[0]:.6f}")
