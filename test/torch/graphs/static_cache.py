"""A language model of Transformers decodes with a static cache, each token by one CUDA graph, as
engines do that capture the model themselves.

usage: static_cache.py WAY TOKENS      WAY: eager or graph
"""
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

from capture import captured

way, tokens = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
config = LlamaConfig(num_hidden_layers=2, hidden_size=64, intermediate_size=128,
                     num_attention_heads=2, num_key_value_heads=2, vocab_size=200)
model = LlamaForCausalLM(config).cuda().eval()
cache = StaticCache(config=config, max_cache_len=128)
token = torch.zeros(2, 1, dtype=torch.long, device="cuda")
position = torch.zeros(1, dtype=torch.long, device="cuda")


def decode():
    logits = model(token, past_key_values=cache, cache_position=position, use_cache=True).logits
    return logits[:, -1:].argmax(-1)


with torch.inference_mode():
    decode()
    if way == "graph":
        graph, out = captured(decode)
    for number in range(tokens):
        if way == "graph":
            graph.replay()
        else:
            out = decode()
        token.copy_(out)
        position.add_(1)
        torch.cuda.synchronize()
print("done")
