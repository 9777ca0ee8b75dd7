#!/usr/bin/env python3
"""What lives on the host: the same bits as on the device, and what it costs, beside PyTorch's FSDP2 with
CPUOffloadPolicy, in one call on a machine with one GPU:

    offload.py build/train-cuda/bin [exact] [host] [fsdp2] [2.7B] [6.7B] [13B]

exact: ten losses of a small model, equal to the bit whatever is offloaded; exit code 1 if not.
host:  AdamW on the host beside the memory's bandwidth and PyTorch's fused one.
"""
import os
import statistics
import subprocess
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from trainers import Attempt, measured, run_json, sizes, train  # noqa: E402

MODELS = {  # layers, hidden, heads, micro-batch, batch, [settings beside full recomputation]
    "2.7B": (32, 2560, 32, 8, 8, [{}, {"offload": "optimizer"}, {"offload": "full"},
                                  {"offload": "full", "offload_activations": True}]),
    "6.7B": (32, 4096, 32, 8, 32, [{}, {"offload": "optimizer"},
                                   {"offload": "optimizer", "offload_fraction": 0.5}]),
    "13B": (40, 5120, 40, 8, 32, [{"offload": "optimizer", "offload_fraction": 0.7}]),
}
SEQ, PEAK = 2048, 989e12


def exact(trainers):
    kinds = [{}, {"offload": "optimizer"}, {"offload": "optimizer", "offload_fraction": 0.5},
             {"offload": "full"}, {"offload": "full", "offload_fraction": 0.5},
             {"offload": "full", "recompute": "full", "offload_activations": True}]
    bad = False
    for dtype in ("fp32", "bf16"):
        runs = [[s["loss"] for s in train(trainers, run_json(
            "zero3", (6, 256, 8, 512, 128), 8, 8, 10, rate=1e-3, dtype=dtype,
            training={"dropout": 0.1}, **kind)).steps()] for kind in kinds]
        for kind, losses in zip(kinds, runs):
            same = losses == runs[0]
            bad |= not same
            print(f"{dtype} {kind or 'on the device'}: {'equal' if same else losses}", flush=True)
    return bad


def host(trainers):
    torch.set_num_threads(os.cpu_count())
    weight = torch.nn.Parameter(torch.zeros(10**9))
    weight.grad = torch.full_like(weight, 1e-3)
    optimizer = torch.optim.AdamW([weight], fused=True)
    optimizer.step()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        optimizer.step()
        times.append(time.perf_counter() - began)
    print(f"PyTorch's fused AdamW: {1 / statistics.median(times):.2f} G parameters/s", flush=True)
    del weight, optimizer
    subprocess.run([os.path.join(trainers, "orch_gpu_check"), "--host"], check=True)


def host_peak(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


def ours(trainers, name, settings, steps=7, skip=2):
    layers, hidden, heads, micro, batch, _ = MODELS[name]
    run = run_json("zero3", (layers, hidden, heads, 50257, SEQ), micro, batch, steps + 1,
                   recompute="full", **settings)
    attempt = Attempt(trainers, run)  # we end it: a checkpoint at its end would not fit on the disk
    while len(attempt.steps()) < steps:
        if attempt.ranks[0].poll() is not None:
            print(f"| {name} | {settings} | {attempt.said(0)[-300:]} |", flush=True)
            return False
        time.sleep(0.1)
    done, host_bytes = attempt.steps(), host_peak(attempt.ranks[0].pid)
    profiles = [e for e in attempt.events() if e["event"] == "profile"]
    attempt.wait(0)
    seconds = statistics.median(e["step_seconds"] for e in done[skip:])
    tokens = batch * SEQ
    n = 12 * layers * hidden**2 + (50257 + SEQ) * hidden
    what = ", ".join(f"{key} {value}" for key, value in settings.items()) or "on the device"
    print(f"| {name} | {what} | {tokens / seconds:,.0f} | {6 * n * tokens / seconds / PEAK:.1%} | "
          f"{done[-1]['peak_memory_bytes'] / 2**30:.1f} | {host_bytes / 2**30:.1f} |", flush=True)
    for profile in profiles[-1:]:
        print("  ms:", {k: round(1e3 * v) for k, v in profile["time_items"].items() if v > 1e-3},
              "\n  GiB:", {k: round(v / 2**30, 2) for k, v in profile["memory_items"].items()}, flush=True)
    measured(f"offload: {name}, {what}", tokens / seconds, "tokens/s",
             peak_gib=done[-1]["peak_memory_bytes"] / 2**30, host_gib=host_bytes / 2**30)
    return True


def fsdp2(offload, steps=4):
    import torch.distributed as dist
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
    from reference import Transformer
    layers, hidden, heads, micro, _, _ = MODELS["2.7B"]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29777", RANK="0", WORLD_SIZE="1")
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl")
    torch.set_num_threads(os.cpu_count())
    with torch.device("meta"):
        model = Transformer(sizes((layers, hidden, heads, 50257, SEQ)), True)
    model.to_empty(device="cpu" if offload else "cuda")
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, device="cuda") * 0.02)
    how = {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
           "offload_policy": CPUOffloadPolicy() if offload else OffloadPolicy()}
    for block in model.blocks:
        fully_shard(block, **how)
    fully_shard(model, **how)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = (torch.arange(micro * SEQ + 1) * 7919 % 50257).cuda()
    x, y = tokens[:-1].view(micro, SEQ), tokens[1:].view(micro, SEQ)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x, y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    for _ in range(2):
        step()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / steps
    print(f"| 2.7B | FSDP2 {'CPUOffloadPolicy' if offload else 'on the device'} | "
          f"{micro * SEQ / seconds:,.0f} | | {torch.cuda.max_memory_reserved() / 2**30:.1f} | "
          f"{host_peak(os.getpid()) / 2**30:.1f} |", flush=True)
    measured(f"offload: 2.7B, FSDP2 {'with CPUOffloadPolicy' if offload else 'on the device'}",
             micro * SEQ / seconds, "tokens/s", peak_gib=torch.cuda.max_memory_reserved() / 2**30,
             host_gib=host_peak(os.getpid()) / 2**30, theirs=True)


if __name__ == "__main__":
    trainers, wanted = sys.argv[1], sys.argv[2:] or ["exact", "host", "fsdp2", *MODELS]
    bad = "exact" in wanted and exact(trainers)
    if "host" in wanted:
        host(trainers)
    if wanted[0] in ("fsdp2-True", "fsdp2-False"):  # in a process of its own
        sys.exit(fsdp2(wanted[0] == "fsdp2-True"))
    print("| model | where | tokens/s | MFU | GiB on the device | on the host |")
    print("|---|---|---:|---:|---:|---:|", flush=True)
    if "fsdp2" in wanted:
        for offload in (True, False):
            bad |= subprocess.run([sys.executable, __file__, trainers, f"fsdp2-{offload}"]).returncode != 0
    for name in MODELS:
        for settings in MODELS[name][5] if name in wanted else []:
            bad |= not ours(trainers, name, settings)
    sys.exit(bad)
