#!/usr/bin/env python3
"""The speed of our trainers beside PyTorch's, and their losses on a GPU beside those on a CPU, in one
call on a machine with a GPU and the trainers built there (backends/build):

    speed.py build/train-cuda/bin [--steps 20] [--no-eager] [--no-compile] [--no-curves]
        [--models 124M,774M] [--backends ddp,megatron,zero3] [--first]

--first: of each model only the first of the backends that can train it. Ours is the mean of a run before and one after PyTorch's.
"""
import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from trainers import MODELS, Attempt, measured, run_json, train  # noqa: E402


def reference(names, steps, compiled):
    command = [sys.executable, HERE + "/reference.py", "--steps", str(steps), "--models",
               ",".join(names)] + (["--compile"] if compiled else [])
    done = subprocess.run(command, capture_output=True, text=True)
    output = done.stdout
    if done.returncode:
        print(done.stderr[-1000:], file=sys.stderr)
    return {name: (float(rate), float(loss)) for name, rate, loss in
            re.findall(r"^\w+ (\S+) (\d+) tokens/s.*loss ([\d.]+)", output, re.M)}


def backends_of(name, backends, first):
    """Those that can train it."""
    only = MODELS[name][3] if len(MODELS[name]) > 3 else backends
    return [b for b in backends if b in only][:1 if first else None]


def ours(trainers, backend, name, steps):
    model, micro, recompute, *only = MODELS[name]
    run = run_json(backend, model, micro, micro, steps + 8, recompute=recompute,
                   **(only[0][backend] if only else {}))
    attempt = Attempt(trainers, run)  # we end it: the checkpoint at its end takes longer than the
                                      # steps
    while len(attempt.steps()) < run["steps"] - 1:
        if attempt.ranks[0].poll() is not None:
            sys.exit(attempt.said(0)[-2000:])
        time.sleep(0.1)
    done = attempt.steps()[8:]
    attempt.wait(0)
    # By wall clock, as for PyTorch, whatever the trainer reports.
    seconds = (done[-1]["time"] - done[0]["time"]) / (len(done) - 1)
    return micro * model["seq"] / seconds, done[-1]["peak_memory_bytes"] / 2**30


def speed(trainers, models, backends, first, steps, kinds):
    number = lambda value, form=",.0f": format(value, form) if value else "–"  # noqa: E731
    ratio = lambda a, b, form=".3f": number(a and b and a / b, form)  # noqa: E731
    print("| model | ddp, tokens/s | megatron | megatron / ddp | zero3 / ddp | eager | compile | "
          "ours / eager | ours / compile | peak GiB |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in models:
        before = {b: ours(trainers, b, name, steps) for b in backends_of(name, backends, first)}
        e, c = (reference([name], steps, kind == "compile").get(name, (None,))[0]
                if kind in kinds else None for kind in ("eager", "compile"))
        rates, peaks = {}, {}
        for backend, (rate, memory) in before.items():
            rates[backend] = (rate + ours(trainers, backend, name, steps)[0]) / 2
            peaks[backend] = memory
        ddp, megatron, zero3 = (rates.get(b) for b in ("ddp", "megatron", "zero3"))
        one = next(iter(rates.values()))
        for backend, rate in rates.items():
            measured(f"speed: {name}, {backend}", rate, "tokens/s", beside=c, eager=e, peak_gib=peaks[backend])
        print(f"| {name} | {number(ddp)} | {number(megatron)} | {ratio(megatron, ddp)} | "
              f"{ratio(zero3, ddp)} | {number(e)} | {number(c)} | {ratio(one, e, '.2f')} | "
              f"{ratio(one, c, '.2f')} | {next(iter(peaks.values())):.1f} |", flush=True)


def curves(trainers):
    def losses(gpu, dtype):
        run = run_json("ddp", (4, 128, 4, 512, 128), 8, 8, 50, rate=1e-3, gpu=gpu, dtype=dtype)
        return [e["loss"] for e in train(trainers, run).steps()]
    cpu, fp32, bf16 = losses("cpu", "fp32"), losses("gpu", "fp32"), losses("gpu", "bf16")
    print("\n| step | CPU fp32 | GPU fp32 | GPU bf16 |\n|---:|---:|---:|---:|")
    for step in [1, 2, 5, 10, 20, 30, 40, 50]:
        print(f"| {step} | {cpu[step-1]:.6f} | {fp32[step-1]:.6f} | {bf16[step-1]:.6f} |")
    narrow, wide = (max(abs(a - b) for a, b in zip(cpu, gpu)) for gpu in (bf16, fp32))
    print(f"largest difference to the CPU: fp32 {wide:.2g}, bf16 {narrow:.2g}")
    return wide > 1e-5 or narrow > 0.02


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("trainers", help="the folder they were built into")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-eager", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--no-curves", action="store_true")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--backends", default="ddp,megatron,zero3")
    parser.add_argument("--first", action="store_true")
    arguments = parser.parse_args()
    bad = not arguments.no_curves and curves(arguments.trainers)
    kinds = {"eager": not arguments.no_eager, "compile": not arguments.no_compile}
    speed(arguments.trainers, arguments.models.split(","), arguments.backends.split(","), arguments.first,
          arguments.steps, [kind for kind, wanted in kinds.items() if wanted])
    sys.exit(1 if bad else 0)
