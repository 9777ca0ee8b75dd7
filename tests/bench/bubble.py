#!/usr/bin/env python3
"""How long a pipeline's stages are idle, on stages that are slowed to the same speed: measured over four
CPU ranks beside (P - 1) / (v M), and a third of it where gradients of weights fill it.

    bubble.py build/core/bin [--ms 30]
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "gpu"))
from trainers import run_json, train  # noqa: E402

CASES = [  # stages, chunks, micro-batches, filled
    (4, 1, 8, False), (4, 1, 8, True), (4, 2, 8, False), (4, 2, 12, False), (2, 1, 4, False),
    (2, 1, 4, True), (2, 2, 4, False), (2, 4, 4, False)]


def step_seconds(trainers, stages, chunks, micro_batches, filled):
    run = run_json("megatron", (8, 32, 4, 64, 16), 1, micro_batches, 8, (1, stages, 1), gpu="cpu",
                   dtype="fp32", flash_attention=False, interleave=chunks, fill_bubbles=filled)
    return statistics.median(step["step_seconds"] for step in train(trainers, run).steps()[1:])


def idle_share(trainers, stages, chunks, micro_batches, filled, ms):
    """One stage alone tells what the model itself takes, beside what it was slowed by."""
    slow = micro_batches * 3 * ms / 1e3
    own = step_seconds(trainers, 1, 1, micro_batches, False) - slow
    busy = slow + own / stages
    return step_seconds(trainers, stages, chunks, micro_batches, filled) / busy - 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("trainers")
    parser.add_argument("--ms", type=float, default=30)
    arguments = parser.parse_args()
    os.environ.update(ORCH_TEST_SLOW_MS=str(arguments.ms), OMP_NUM_THREADS="1")
    print("| stages | chunks | micro-batches | filled | idle / busy | (P - 1) / (v M) | of it |")
    print("|---:|---:|---:|---|---:|---:|---:|")
    for stages, chunks, micro_batches, filled in CASES:
        measured = idle_share(arguments.trainers, stages, chunks, micro_batches, filled, arguments.ms)
        known = (stages - 1) / (chunks * micro_batches)
        print(f"| {stages} | {chunks} | {micro_batches} | {'yes' if filled else 'no'} | {measured:.4f} | "
              f"{known:.4f} | {measured / known:.3f} |", flush=True)
