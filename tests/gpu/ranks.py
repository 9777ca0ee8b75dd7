#!/usr/bin/env python3
"""Several ranks over NCCL on one GPU: they train as one rank does, and none outlives another's death.

    ranks.py build/train-cuda/bin [parity] [llama] [deaths [FOLDER]] [deaths:zero3]

parity is of a GPT, llama of a Llama with two heads to a key; deaths:NAME has NAME's cases alone.

parity and llama run under MPS where there is one: processes that share a GPU without it take turns, and
the first step of a pipeline of four takes longer than a minute. deaths, which MPS would not survive, do not.
FOLDER: where the runs of deaths are kept.

Exit code 1 if a loss differs by more than 1e-5, or a survivor ends too late, without a message or with
the wrong one.
"""
import itertools
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainers import Attempt, mps, run_json, several_at_once, train  # noqa: E402

SMALL = (4, 128, 8, 512, 64)
LAYOUTS = [  # strategy, (tensor, pipeline, data), settings
    ("ddp", (1, 1, 2), {}), ("ddp", (1, 1, 8), {}),
    ("megatron", (2, 1, 1), {}), ("megatron", (4, 1, 1), {"sequence_parallel": True}),
    ("megatron", (1, 2, 1), {}), ("megatron", (1, 4, 1), {"fill_bubbles": True}),
    ("megatron", (1, 2, 1), {"interleave": 2}),
    ("megatron", (1, 1, 4), {"zero_stage": 1}),
    ("megatron", (1, 1, 2), {"zero_stage": 1, "overlap_param_gather": True}),
    ("megatron", (2, 1, 2), {"zero_stage": 1, "offload": "optimizer"}), ("megatron", (2, 2, 1), {"recompute": "full"}),
    ("megatron", (2, 2, 2), {"zero_stage": 1}),
    ("megatron", (2, 2, 2), {"zero_stage": 1, "sequence_parallel": True, "interleave": 2}),
    ("deepspeed", (1, 1, 2), {"stage": 1}), ("deepspeed", (1, 1, 2), {"stage": 2, "offload": "optimizer"}),
    ("zero3", (1, 1, 4), {}), ("zero3", (1, 1, 8), {"prefetch": 3}),
    ("fsdp", (1, 1, 4), {"sharding": "grad_op"}),
    ("fsdp", (1, 1, 4), {"sharding": "hybrid", "hybrid_shard_group": 2}),
]

LLAMA = dict(family="llama", layers=4, hidden=128, heads=8, kv_heads=4, ffn_hidden=352, vocab=512,
             seq=64, rope_theta=1e4, tied=False)
LLAMA_LAYOUTS = [LAYOUTS[i] for i in (0, 2, 3, 4, 5, 9, 12, 14, 15, 18)]


def losses(trainers, model, backend, layout, dtype, settings):
    dropout = 0.1 if model is SMALL else 0.0
    run = run_json(backend, model, 1, 8, 10, layout, 1e-3, dtype=dtype,
                   training={"epsilon": 1e-5, "dropout": dropout}, **settings)
    return [step["loss"] for step in train(trainers, run).steps()]


def name_of(layout, settings):
    return " x ".join(map(str, layout)) + "".join(
        f", {key} {value}" if value is not True else f", {key}" for key, value in settings.items())


def parity(trainers, model, layouts):
    print("| trainer | tensor x pipeline x data | fp32: largest difference of 10 losses | bf16 | s |")
    print("|---|---|---:|---:|---:|")
    alone = {t: losses(trainers, model, "megatron", (1, 1, 1), t, {}) for t in ("fp32", "bf16")}

    def differences(case):
        backend, layout, settings = case
        began = time.monotonic()
        return {t: max(abs(a - b) for a, b in
                       zip(losses(trainers, model, backend, layout, t, settings), alone[t], strict=True))
                for t in alone}, time.monotonic() - began

    bad = False
    for (backend, layout, settings), (worst, seconds) in several_at_once(layouts, differences):
        bad |= worst["fp32"] > 1e-5 or worst["bf16"] > 0.02
        print(f"| {backend} | {name_of(layout, settings)} | {worst['fp32']:.2g} | {worst['bf16']:.2g} | "
              f"{seconds:.0f} |", flush=True)
    return bad


CASES = [  # what, strategy, layout, victim, signal, steps it has done, collective_timeout
    ("killed while connecting", "ddp", (1, 1, 4), 1, signal.SIGKILL, 0, 20),
    ("stopped while connecting", "megatron", (1, 4, 1), 1, signal.SIGSTOP, 0, 20),
    ("killed in a pipeline", "megatron", (1, 4, 1), 2, signal.SIGKILL, 3, 90),
    ("stopped", "ddp", (1, 1, 4), 2, signal.SIGSTOP, 5, 20),
    ("killed", "megatron", (2, 2, 1), 3, signal.SIGKILL, 3, 60),
    ("killed", "ddp", (1, 1, 4), 2, signal.SIGKILL, 5, 20),
    ("killed, hosts the store", "ddp", (1, 1, 4), 0, signal.SIGKILL, 5, 20),
    ("stopped, hosts the store", "ddp", (1, 1, 4), 0, signal.SIGSTOP, 5, 20),
    ("killed", "zero3", (1, 1, 4), 2, signal.SIGKILL, 5, 20),
    ("stopped", "zero3", (1, 1, 4), 1, signal.SIGSTOP, 5, 20),
    ("stopped in a pipeline", "megatron", (1, 4, 1), 3, signal.SIGSTOP, 3, 60),
]


def is_connecting(attempt, victim):
    """Its flight recording is there, with the first collective in it, perhaps."""
    return os.path.exists(os.path.join(attempt.attempt, "flight", f"rank-{victim}"))


def death(trainers, backend, layout, victim, number, after, timeout, folder):
    run = run_json(backend, SMALL, 1, 8, 1_000_000, layout, 1e-3, dtype="fp32",
                   training={"collective_timeout": timeout, "checkpoint_every": 0})
    attempt = Attempt(trainers, run, folder)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (
            len(attempt.steps()) < after if after else not is_connecting(attempt, victim)):
        time.sleep(0.02)
    if len(attempt.steps()) < after or any(rank.poll() is not None for rank in attempt.ranks):
        attempt.wait(0)  # it ended before the signal: the case shows nothing
        return False, {}, {}, ["it did not come so far"], attempt
    os.kill(attempt.ranks[victim].pid, number)
    began, ended = time.monotonic(), {}
    while len(ended) < len(attempt.ranks) - 1 and time.monotonic() < began + timeout + 30:
        for rank, process in enumerate(attempt.ranks):
            if rank != victim and rank not in ended and process.poll() is not None:
                ended[rank] = time.monotonic() - began
        time.sleep(0.05)
    attempt.wait(0)
    words = {rank: [line for line in attempt.said(rank).splitlines()
                    if line.startswith(f"rank {rank}: ")] for rank in ended}
    good = len(ended) == len(attempt.ranks) - 1 and all(
        seconds <= timeout + 15 and words[rank] and words[rank][-1].startswith(f"rank {rank}: nccl: ")
        and f"rank {victim} " in words[rank][-1] for rank, seconds in ended.items())
    failed = [e for e in attempt.events() if e["event"] == "failed"]
    return good and bool(failed), ended, words, failed, attempt


def deaths(trainers, cases, kept=None):
    print("\n| rank | trainer, layout | timeout | survivors ended after | good | what one of them said |")
    print("|---|---|---:|---|---|---|")
    pipelines = [case for case in cases if case[2][1] > 1]  # one at a time, or a first step takes minutes

    def one(case):
        _, backend, layout, victim, number, after, timeout = case
        return death(trainers, backend, layout, victim, number, after, timeout,
                     kept and os.path.join(kept, str(cases.index(case))))

    bad = False
    for case, (good, ended, words, failed, attempt) in itertools.chain(
            several_at_once([c for c in cases if c not in pipelines], one, ranks_in_all=8, layout_of=lambda c: c[2]),
            ((case, one(case)) for case in pipelines)):
        what, backend, layout, victim, *_, timeout = case
        bad |= not good
        said = next((w[-1] for w in words.values() if w), "nothing")
        times = ", ".join(f"{seconds:.1f}" for seconds in ended.values()) or "none ended"
        print(f"| {victim} {what} | {backend} {name_of(layout, {})} | {timeout} s | {times} s | "
              f"{'yes' if good else 'NO'} | {said} |", flush=True)
        if not good:
            for rank in range(len(attempt.ranks)):
                print(f"-- rank {rank}\n" + attempt.said(rank)[-1500:])
            print(failed)
    return bad


if __name__ == "__main__":
    trainers, wanted = sys.argv[1], sys.argv[2:] or ["parity", "llama", "deaths"]
    kept = wanted.pop() if "/" in wanted[-1] else None
    results = []
    for word in wanted:
        if word in ("parity", "llama"):
            with mps():
                results.append(parity(trainers, *((SMALL, LAYOUTS) if word == "parity" else
                                                  (LLAMA, LLAMA_LAYOUTS))))
        elif word.startswith("deaths"):
            only = word.partition(":")[2]
            results.append(deaths(trainers, [c for c in CASES if only in c[1]], kept))
        else:
            sys.exit(f"ranks.py: '{word}'? parity, llama, deaths, deaths:NAME or a folder (with a /)")
    sys.exit(1 if any(results) else 0)
