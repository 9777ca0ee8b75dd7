#!/usr/bin/env python3
"""The speed of our trainer beside PyTorch's, and its losses on a GPU beside those on a CPU, in one
call on a machine with a GPU and the trainers built there (backends/build):

    gpu_table.py build/train-cuda/bin/orch-train-ddp [--steps 20] [--no-compile]
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {  # layers, hidden, heads, sequence, micro-batch, recompute: as in gpu_reference.py
    "124M": (12, 768, 12, 1024, 32, "none"),
    "774M": (36, 1280, 20, 1024, 16, "none"),
    "1.3B": (24, 2048, 16, 2048, 8, "none"),
    "1.3B-recompute": (24, 2048, 16, 2048, 16, "full"),
}


def run_json(layers, hidden, heads, vocab, seq, micro, gpu, dtype, recompute, steps, rate):
    return {
        "version": 1, "experiment": "gpu", "strategy": "ddp", "backend": "ddp",
        "backend_version": "0", "cluster": "here", "partition": "here", "gpu": gpu, "gpus": 1,
        "nodes": 1, "gpus_per_node": 1, "tensor_parallel": 1, "pipeline_parallel": 1,
        "data_parallel": 1, "micro_batch": micro, "accumulate": 1, "global_batch": micro,
        "rampup": None, "tokens": 1e9, "steps": steps,
        "model": {"name": "m", "family": "gpt", "layers": layers, "hidden": hidden,
                  "heads": heads, "vocab": vocab, "seq": seq},
        "settings": {
            "compression": "none", "powersgd_rank": 1, "powersgd_start": 10,
            "powersgd_min_compression_rate": 2, "optimizer": "adamw", "bucket_mb": 25,
            "overlap": True, "gradient_as_bucket_view": True, "recompute": recompute,
            "dtype": dtype, "master_weights": True, "flash_attention": True,
            "fused_kernels": True},
        "training": {"learning_rate": rate, "min_learning_rate": rate, "schedule": "constant",
                     "seed": 3, "tensorboard": False},
        "job": {},
    }


def train(trainer, run):
    with tempfile.TemporaryDirectory() as folder:
        attempt = os.path.join(folder, "attempts", "1")
        os.makedirs(attempt)
        with open(os.path.join(folder, "run.json"), "w") as file:
            json.dump(run, file)
        environment = {**os.environ, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1",
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
        done = subprocess.run([trainer, "--run", folder + "/run.json", "--attempt", attempt],
                              env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout[-2000:] + done.stderr[-4000:])
        with open(attempt + "/events.jsonl") as file:
            events = [json.loads(line) for line in file]
    return events


def steps_of(events):
    return [e for e in events if e["event"] == "step"]


def reference(names, steps, compiled):
    command = [sys.executable, HERE + "/gpu_reference.py", "--steps", str(steps), "--models",
               ",".join(names)] + (["--compile"] if compiled else [])
    output = subprocess.run(command, capture_output=True, text=True).stdout
    return {name: (float(rate), float(loss)) for name, rate, loss in
            re.findall(r"^\w+ (\S+) (\d+) tokens/s.*loss ([\d.]+)", output, re.M)}


def speed(trainer, steps, with_compile):
    eager = reference(MODELS, steps, False)
    compiled = reference([m for m in MODELS if "recompute" not in m], steps, True) if with_compile else {}
    print("| model | ours, tokens/s | eager | compile | ours / eager | ours / compile | peak GiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (layers, hidden, heads, seq, micro, recompute) in MODELS.items():
        run = run_json(layers, hidden, heads, 50257, seq, micro, "gpu", "bf16", recompute,
                       steps + 8, 1e-4)
        done = steps_of(train(trainer, run))[8:]
        ours = micro * seq / statistics.median(e["step_seconds"] for e in done)
        e, c = eager[name][0], compiled.get(name, (None,))[0]
        print(f"| {name} | {ours:,.0f} | {e:,.0f} | {f'{c:,.0f}' if c else '–'} | {ours / e:.2f} | "
              f"{f'{ours / c:.2f}' if c else '–'} | {done[-1]['peak_memory_bytes'] / 2**30:.1f} |",
              flush=True)


def curves(trainer):
    def losses(gpu, dtype):
        run = run_json(4, 128, 4, 512, 128, 8, gpu, dtype, "none", 50, 1e-3)
        return [e["loss"] for e in steps_of(train(trainer, run))]
    cpu, fp32, bf16 = losses("cpu", "fp32"), losses("gpu", "fp32"), losses("gpu", "bf16")
    print("\n| step | CPU fp32 | GPU fp32 | GPU bf16 |\n|---:|---:|---:|---:|")
    for step in [1, 2, 5, 10, 20, 30, 40, 50]:
        print(f"| {step} | {cpu[step-1]:.6f} | {fp32[step-1]:.6f} | {bf16[step-1]:.6f} |")
    print(f"largest difference to the CPU: fp32 {max(abs(a - b) for a, b in zip(cpu, fp32)):.2g}, "
          f"bf16 {max(abs(a - b) for a, b in zip(cpu, bf16)):.2g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("trainer")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--no-curves", action="store_true")
    arguments = parser.parse_args()
    if not arguments.no_curves:
        curves(arguments.trainer)
    speed(arguments.trainer, arguments.steps, not arguments.no_compile)
