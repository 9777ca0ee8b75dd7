#!/usr/bin/env python3
"""A layer of hidden size 8192 as one of T tensor-parallel ranks trains it, beside the same products and
the same attention alone, in one call on a machine with one GPU:

    slices.py build/train-cuda/bin [--samples 4] [--sizes 2,4,8]

The layer's time is what a layer and a micro-batch more cost: embedding, head and optimizer are out.
Its collectives return at once. Rates count the FLOPs of products and attention alone in both.
"""
import argparse
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainers import measured, run_json, train  # noqa: E402

HIDDEN, HEADS, SEQ = 8192, 64, 2048


def step_seconds(trainers, tensor, layers, micro_batches, samples, settings):
    run = run_json("megatron", (layers, HIDDEN, HEADS, 1024 * tensor, SEQ), samples,
                   samples * micro_batches, 10, (tensor, 1, 1), **settings)
    steps = train(trainers, run, alone=True).steps()
    return statistics.median(e["step_seconds"] for e in steps[4:])


def layer_seconds(trainers, tensor, samples, settings):
    """Of one layer and one micro-batch, forward and backward."""
    few, many, short, long = 2, 6, 1, 5
    cost = lambda layers: (step_seconds(trainers, tensor, layers, many, samples, settings)  # noqa: E731
                           - step_seconds(trainers, tensor, layers, few, samples, settings))
    return (cost(long) - cost(short)) / (long - short) / (many - few)


def seconds_of(works, settle=1.0, measure=3.0):
    """Of all of them, one after the other, again and again, as a training has them: a GPU that works for
    milliseconds has a higher clock than one that is at its limit of power."""
    def for_seconds(limit):
        began, rounds = time.perf_counter(), 0
        while time.perf_counter() - began < limit:
            for work in 10 * works:
                work()
            torch.cuda.synchronize()
            rounds += 10
        return (time.perf_counter() - began) / rounds

    for_seconds(settle)
    return for_seconds(measure)


def adding(total, a, b):
    """total += a b in fp32, in one product where this PyTorch has it; else written, which is less."""
    try:
        torch.addmm(total, a, b, out_dtype=torch.float32, out=total)
        return lambda: torch.addmm(total, a, b, out_dtype=torch.float32, out=total)
    except (RuntimeError, TypeError):
        return lambda: torch.mm(a, b, out_dtype=torch.float32)


def product(inputs, outputs, rows, like):
    """A product's output and both its gradients."""
    x, w = torch.randn(rows, inputs, **like), torch.randn(outputs, inputs, **like)
    dy, total = torch.randn(rows, outputs, **like), torch.zeros(outputs, inputs, device="cuda")
    return [lambda: x @ w.T, lambda: dy @ w, adding(total, dy.T, x)]


def alone(tensor, samples):
    """Seconds and FLOPs of a layer's products and attention."""
    rows, like = samples * SEQ, {"device": "cuda", "dtype": torch.bfloat16}
    works, flops = [], 0.0
    for inputs, outputs in ((HIDDEN, 3 * HIDDEN // tensor), (HIDDEN // tensor, HIDDEN),
                            (HIDDEN, 4 * HIDDEN // tensor), (4 * HIDDEN // tensor, HIDDEN)):
        works += product(inputs, outputs, rows, like)
        flops += 3 * 2 * rows * inputs * outputs
    shape = (samples, HEADS // tensor, SEQ, HIDDEN // HEADS)
    q, k, v, dy = (torch.randn(shape, **like, requires_grad=i < 3) for i in range(4))
    works.append(lambda: torch.autograd.grad(
        F.scaled_dot_product_attention(q, k, v, is_causal=True), (q, k, v), dy))
    flops += 3.5 * 4 * rows * SEQ * HIDDEN // tensor / 2
    return seconds_of(works), flops


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("trainers", help="the folder they were built into")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--sizes", default="2,4,8")
    arguments = parser.parse_args()
    print("| tensor parallel | products alone, TFLOP/s | layer | of it | with sequence parallelism | of it |")
    print("|---:|---:|---:|---:|---:|---:|")
    for size in map(int, arguments.sizes.split(",")):
        least, work = alone(size, arguments.samples)
        torch.cuda.empty_cache()
        times = [layer_seconds(arguments.trainers, size, arguments.samples, {"sequence_parallel": s})
                 for s in (False, True)]
        print(f"| {size} | {work / least / 1e12:.0f} | " + " | ".join(
            f"{work / t / 1e12:.0f} | {least / t:.1%}" for t in times) + " |", flush=True)
        for name, t in zip(("", ", sequence parallel"), times):
            measured(f"slices: tensor parallel {size}{name}", work / t / 1e12, "TFLOP/s",
                     beside=work / least / 1e12)
