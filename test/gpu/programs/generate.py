"""Transformers' generate: GPT-2 from a configuration, greedy, a token a step.

usage: generate.py TOKENS
"""
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1000, bos_token_id=0,
                                   eos_token_id=None)).cuda().eval()
prompt = torch.zeros(2, 8, dtype=torch.long, device="cuda")
tokens = model.generate(prompt, max_new_tokens=int(sys.argv[1]), do_sample=False, pad_token_id=0,
                        attention_mask=torch.ones_like(prompt))
print(tuple(tokens.shape), tokens[:, 8:16].tolist())
