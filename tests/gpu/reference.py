#!/usr/bin/env python3
"""Tokens per second of PyTorch itself, eager and compiled, on the models that ours is held against:
bf16 autocast with fp32 weights, fused AdamW, clipping at 1.0, flash attention, tied embeddings, the
vocabulary padded to a multiple of 128 as ours is; Llamas with nn.RMSNorm and grouped queries. Run it in the same call as the trainer: machines differ.

    reference.py [--steps 20] [--compile] [--models 124M,774M]
"""
import argparse
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainers import MODELS, sizes  # noqa: E402


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


class LlamaBlock(nn.Module):
    def __init__(self, hidden, heads, kv_heads, ffn, cos, sin):
        super().__init__()
        self.heads, self.kv_heads, self.dim = heads, kv_heads, hidden // heads
        self.norm1, self.norm2 = nn.RMSNorm(hidden, eps=1e-5), nn.RMSNorm(hidden, eps=1e-5)
        self.qkv = nn.Linear(hidden, (heads + 2 * kv_heads) * self.dim, bias=False)
        self.out = nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 2 * ffn, bias=False), nn.Linear(ffn, hidden, bias=False)
        self.cos, self.sin = cos, sin

    def turn(self, x):
        first, second = x.chunk(2, dim=-1)
        return (x * self.cos + torch.cat((-second, first), dim=-1) * self.sin).to(x.dtype)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, -1, self.dim).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(
            [h, self.kv_heads * self.dim, self.kv_heads * self.dim], dim=2))
        a = F.scaled_dot_product_attention(self.turn(q), self.turn(k), v, is_causal=True,
                                           enable_gqa=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, s, h))
        gate, up = self.up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def llama_blocks(model):
    dim = model["hidden"] // model["heads"]
    angles = torch.outer(torch.arange(model["seq"]).float(),
                         model["rope_theta"] ** (-torch.arange(0, dim, 2).float() / dim))
    angles = torch.cat((angles, angles), dim=-1).cuda()
    return [LlamaBlock(model["hidden"], model["heads"], model["kv_heads"], model["ffn_hidden"],
                       angles.cos(), angles.sin()) for _ in range(model["layers"])]


class Transformer(nn.Module):
    def __init__(self, model, recompute):
        super().__init__()
        self.recompute = recompute
        layers, hidden, llama = model["layers"], model["hidden"], model["family"] == "llama"
        self.vocab = (model["vocab"] + 127) // 128 * 128
        self.words = nn.Embedding(self.vocab, hidden)
        self.places = None if llama else nn.Embedding(model["seq"], hidden)
        self.blocks = nn.ModuleList(llama_blocks(model) if llama else
                                    [Block(hidden, model["heads"]) for _ in range(layers)])
        self.norm = nn.RMSNorm(hidden, eps=1e-5) if llama else nn.LayerNorm(hidden)
        self.head = None if model.get("tied", True) else nn.Embedding(self.vocab, hidden)
        for name, weight in self.named_parameters():  # the initial values of GPT-2, and of our
                                                      # trainers
            if weight.dim() > 1:
                last = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 / (2 * layers) ** 0.5 if last else 0.02)
            elif "norm" not in name:
                nn.init.zeros_(weight)

    def forward(self, tokens, targets):
        x = self.words(tokens)
        x = x if self.places is None else x + self.places.weight
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        logits = F.linear(self.norm(x), (self.head or self.words).weight)
        return F.cross_entropy(logits.view(-1, self.vocab), targets.view(-1))


def measure(name, steps, compiled):
    asked, batch, recompute = MODELS[name][:3]
    asked = sizes(asked)
    seq = asked["seq"]
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = Transformer(asked, recompute == "full")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, betas=(0.9, 0.95),
                                  fused=True)
    run = torch.compile(model) if compiled else model
    tokens = (torch.arange(batch * seq + 1) * 7919 % asked["vocab"]).cuda()
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
