# step: loop at line 36; iterations 96
"""Speculative decoding: a draft model proposes four tokens, the target model checks them in one
pass, and a prefix of them is kept. Several prompts, one after another."""
import random

import torch
from torch import nn

GAMMA, PROMPTS = 4, 8


class Model(nn.Module):
    def __init__(self, width, layers, vocab=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.blocks = nn.Sequential(*(nn.TransformerEncoderLayer(
            width, 2, 2 * width, dropout=0, batch_first=True) for _ in range(layers)))
        self.head = nn.Linear(width, vocab)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids))).softmax(dim=-1)


def accepted(draft_probs, target_probs):
    """How many proposals stand; the simulated values are no probabilities, so chance decides."""
    ratios = (target_probs / draft_probs).clamp(max=1).tolist()
    for n, _ in enumerate(ratios):
        if random.random() > 0.7:
            return n
    return len(ratios)


@torch.inference_mode()
def speculative_sampling(target, draft, prefix, rounds):
    kept = 0
    while rounds > 0:
        x = prefix
        draft_probs = []
        for _ in range(GAMMA):
            probs = draft(x)[:, -1]
            token = probs.argmax(dim=-1, keepdim=True)
            draft_probs.append(probs.amax(dim=-1))
            x = torch.cat([x, token], dim=1)
        probs = target(x)[:, -GAMMA - 1:]
        n = accepted(torch.cat(draft_probs), probs[0, :-1].amax(dim=-1))
        token = probs[:, n].argmax(dim=-1, keepdim=True)
        prefix = torch.cat([x[:, :x.size(1) - GAMMA + n], token], dim=1)[:, -24:]
        kept += n + 1
        rounds -= 1
    return prefix, kept


def main():
    random.seed(5)
    target, draft = Model(48, 2).cuda().eval(), Model(16, 1).cuda().eval()
    tokens = 0
    for number in range(PROMPTS):
        prompt = torch.randint(0, 96, (1, 6 + number)).cuda()
        output, kept = speculative_sampling(target, draft, prompt, 12)
        tokens += kept
    print("more than one token a round:", tokens > 12 * PROMPTS)


if __name__ == "__main__":
    main()
