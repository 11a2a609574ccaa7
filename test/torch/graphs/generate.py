"""Transformers' generate with a static cache, which it compiles.

usage: generate.py WAY TOKENS      WAY: default, or reduce-overhead, which makes CUDA graphs
"""
import sys

import torch
from transformers import CompileConfig, LlamaConfig, LlamaForCausalLM

way, tokens = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(
    num_hidden_layers=2, hidden_size=64, intermediate_size=128, num_attention_heads=2,
    num_key_value_heads=2, vocab_size=200, bos_token_id=1, eos_token_id=None,
    pad_token_id=0)).cuda().eval()
model.generation_config.cache_implementation = "static"
model.generation_config.compile_config = CompileConfig(mode=way)
left = tokens


def has_unfinished(*_, **__):
    """The simulated GPU cannot compute whether all sequences have ended."""
    global left
    left -= 1
    torch.cuda.synchronize()
    return left > 0


model._has_unfinished_sequences = has_unfinished
prompt = torch.zeros(2, 8, dtype=torch.long, device="cuda")
model.generate(prompt, max_new_tokens=2 * tokens, do_sample=False, pad_token_id=0,
               attention_mask=torch.ones_like(prompt))
print("done")
