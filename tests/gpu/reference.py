#!/usr/bin/env python3
"""Tokens per second of PyTorch itself, eager and compiled, on the models that ours is held against:
bf16 autocast with fp32 weights, fused AdamW, clipping at 1.0, flash attention, tied embeddings, the
vocabulary padded to 50,304 as ours is. Run it in the same call as the trainer: machines differ.

    reference.py [--steps 20] [--compile] [--models 124M,774M]
"""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

MODELS = {  # layers, hidden, heads, sequence, micro-batch, recompute
    "124M": (12, 768, 12, 1024, 32, False),
    "774M": (36, 1280, 20, 1024, 16, False),
    "1.3B": (24, 2048, 16, 2048, 8, False),
    "1.3B-recompute": (24, 2048, 16, 2048, 16, True),
}
VOCAB = 50304


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).split(h, dim=2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, s, h))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, hidden, heads, seq, recompute):
        super().__init__()
        self.recompute = recompute
        self.words, self.places = nn.Embedding(VOCAB, hidden), nn.Embedding(seq, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        for name, weight in self.named_parameters():  # as GPT-2, and ours, begin
            if weight.dim() > 1:
                last = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / (2 * layers) ** 0.5 if last else 0.02)
            elif "norm" not in name:
                nn.init.zeros_(weight)

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.places.weight
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        logits = F.linear(self.norm(x), self.words.weight)
        return F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1))


def measure(name, steps, compiled):
    layers, hidden, heads, seq, batch, recompute = MODELS[name]
    torch.manual_seed(1)
    model = Gpt(layers, hidden, heads, seq, recompute).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, betas=(0.9, 0.95),
                                  fused=True)
    run = torch.compile(model) if compiled else model
    tokens = (torch.arange(batch * seq + 1) * 7919 % 50257).cuda()
    x, y = tokens[:-1].view(batch, seq), tokens[1:].view(batch, seq)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = run(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    for _ in range(steps):
        loss = step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - begin) / steps
    kind = "compile" if compiled else "eager"
    print(f"{kind} {name} {batch * seq / seconds:.0f} tokens/s, {1e3 * seconds:.2f} ms, "
          f"loss {loss.item():.4f}, {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--models", default=",".join(MODELS))
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    for name in arguments.models.split(","):
        measure(name, arguments.steps, arguments.compile)
        torch.compiler.reset()
        torch.cuda.empty_cache()
