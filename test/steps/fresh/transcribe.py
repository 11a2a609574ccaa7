# step: loop at line 49; iterations 333; or: loop at line 72; iterations 20
"""Speech to text after openai/whisper: a window moves over the audio; a window is decoded again at
a higher temperature if it fails, and a window without speech is skipped."""
import random

import torch
from torch import nn

FRAMES, WINDOW, LIMIT, VOCABULARY = 640, 32, 18, 50
device = torch.device("cuda")
random.seed(3)


class Whisper(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv1d(8, 24, 3, padding=1), nn.GELU(),
                                    nn.Conv1d(24, 24, 3, stride=2, padding=1), nn.GELU())
        self.embed, self.norm = nn.Embedding(VOCABULARY, 24), nn.LayerNorm(24)
        self.cross = nn.MultiheadAttention(24, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))

    def logits(self, tokens, audio):
        x = self.embed(tokens)
        x = x + self.cross(self.norm(x), audio, audio, need_weights=False)[0]
        x = x + self.mlp(x)
        return x @ self.embed.weight.t()


class Task:
    tokens_made = 0

    def __init__(self, model, temperature):
        self.model, self.temperature = model, temperature
        self.length = random.randint(5, LIMIT)

    def update(self, tokens, logits):
        if self.temperature == 0:
            following = logits.argmax(-1)
        else:
            following = torch.multinomial(torch.softmax(logits / self.temperature, -1), 1)[:, 0]
        return torch.cat([tokens, following[:, None].clamp(0, VOCABULARY - 1)], -1)

    @torch.no_grad()
    def run(self, mel):
        audio = self.model.encode(mel).transpose(1, 2)
        tokens = torch.zeros(1, 3, dtype=torch.long, device=device)
        total = torch.zeros(1, device=device)
        for i in range(LIMIT):
            logits = self.model.logits(tokens, audio)[:, -1]
            if i == 0:
                total += logits.float().softmax(-1)[:, 0]
            tokens = self.update(tokens, logits)
            Task.tokens_made += 1
            if i >= self.length:
                break
        return tokens.cpu().tolist(), random.random()


def decode_with_fallback(model, segment):
    result, attempts = None, 0
    for temperature in (0, 0.4, 0.8):
        result = Task(model, temperature).run(segment)
        attempts += 1
        if result[1] > 0.25:
            break
    return result


def transcribe(model, mel):
    seek, segments, windows = 0, [], 0
    while seek < mel.shape[-1]:
        segment = mel[:, :, seek:seek + WINDOW].to(device)
        tokens, probability = decode_with_fallback(model, segment)
        windows += 1
        if probability > 0.9:
            seek += WINDOW
            continue
        segments.append({"seek": seek, "tokens": tokens})
        seek += WINDOW
    print("COUNT", Task.tokens_made, windows)
    return segments


transcribe(Whisper().to(device).eval(), torch.randn(1, 8, FRAMES))
