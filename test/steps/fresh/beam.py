# step: loop at line 62; iterations 24; or: loop at line 43; iterations 240
"""Translation by beam search: encode a sentence, then extend four beams word by word, with the
hypotheses kept on the host."""
import torch
from torch import nn

BEAM, MAX_LENGTH, VOCAB = 4, 10, 80


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Embedding(VOCAB, 32), nn.GRU(32, 32, batch_first=True)

    def forward(self, source):
        return self.cell(self.embed(source))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.cell = nn.Embedding(VOCAB, 32), nn.GRUCell(64, 32)
        self.out = nn.Linear(32, VOCAB)

    def forward(self, token, hidden, memory):
        score = torch.bmm(memory, hidden.unsqueeze(2)).softmax(dim=1)
        context = (score * memory).sum(dim=1)
        hidden = self.cell(torch.cat([self.embed(token), context], dim=1), hidden)
        return self.out(hidden).log_softmax(dim=-1), hidden


class Hypothesis:
    def __init__(self, tokens, score):
        self.tokens, self.score = tokens, score


def translate(encoder, decoder, source):
    memory, hidden = encoder(source)
    memory = memory.expand(BEAM, -1, -1)
    hidden = hidden[0].expand(BEAM, -1).contiguous()
    beams = [Hypothesis([1], 0.0) for _ in range(BEAM)]
    scores = torch.zeros(BEAM, 1, device="cuda")
    for step in range(MAX_LENGTH):
        token = torch.tensor([beam.tokens[-1] for beam in beams]).cuda()
        logp, hidden = decoder(token, hidden, memory)
        total = (scores + logp).view(-1)
        best, index = total.topk(BEAM)
        chosen = [i % (BEAM * VOCAB) for i in index.tolist()]
        parents, words = [i // VOCAB for i in chosen], [i % VOCAB for i in chosen]
        beams = [Hypothesis(beams[p].tokens + [w], s)
                 for p, w, s in zip(parents, words, best.tolist())]
        hidden = hidden[torch.tensor(parents, device="cuda")]
        scores = best.unsqueeze(1)
    return max(beams, key=lambda beam: beam.score / len(beam.tokens)).tokens


torch.manual_seed(0)
encoder, decoder = Encoder().cuda().eval(), Decoder().cuda().eval()
sentences = [torch.randint(0, VOCAB, (1, 5 + i % 6)) for i in range(24)]
hypotheses = []
with torch.no_grad():
    for sentence in sentences:
        hypotheses.append(translate(encoder, decoder, sentence.cuda()))
print("sentences", len(hypotheses))
