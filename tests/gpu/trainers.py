"""Runs of our trainers on a machine with one GPU, for the scripts beside this one."""
import concurrent.futures
import contextlib
import json
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

DDP = {"compression": "none", "powersgd_rank": 1, "powersgd_start": 10,
       "powersgd_min_compression_rate": 2, "optimizer": "adamw", "bucket_mb": 25, "overlap": True,
       "gradient_as_bucket_view": True, "recompute": "none", "dtype": "bf16",
       "master_weights": True, "flash_attention": True, "fused_kernels": True}
MEGATRON = {"interleave": 1, "stage_partition": "uniform", "engine": "megatron",
            "sequence_parallel": False, "recompute": "none", "dtype": "bf16", "zero_stage": 0,
            "offload": "none", "fp32_accumulate": True, "flash_attention": True,
            "fused_kernels": True, "optimizer": "adamw", "vocab_multiple": 128,
            "overlap_grad_reduce": True, "fill_bubbles": False, "launch_blocking": False}

ZERO = {"tensor_parallel": 1, "overlap": True, "offload_activations": False, "recompute": "none",
        "dtype": "bf16", "optimizer": "adamw", "flash_attention": True, "fused_kernels": True,
        "prefetch": 1, "offload": "none"}
FSDP = {**{key: value for key, value in ZERO.items() if key != "offload"}, "sharding": "full",
        "hybrid_shard_group": 0}
SETTINGS = {"ddp": DDP, "megatron": MEGATRON, "zero3": ZERO, "deepspeed": ZERO, "fsdp": FSDP}


# The comparison of our trainers with PyTorch's: a model's sizes by their names in experiments, and
# its training: micro-batch, recomputation, and settings by trainer if not all fit (8B: with 16-bit
# gradients only, against PyTorch's 16 bytes per parameter).
LLAMA = dict(family="llama", kv_heads=8, ffn_hidden=8192, vocab=128256, seq=4096, rope_theta=5e5,
             tied=True)
MODELS = {
    "124M": (dict(layers=12, hidden=768, heads=12, seq=1024), 32, "none"),
    "774M": (dict(layers=36, hidden=1280, heads=20, seq=1024), 16, "none"),
    "1.3B": (dict(layers=24, hidden=2048, heads=16, seq=2048), 8, "none"),
    "1.3B-recompute": (dict(layers=24, hidden=2048, heads=16, seq=2048), 16, "full"),
    "llama-1.2B": (dict(LLAMA, layers=16, hidden=2048, heads=32), 4, "none"),
    "llama-3B": (dict(LLAMA, layers=28, hidden=3072, heads=24), 2, "none"),
    "llama-8B-recompute": (dict(LLAMA, layers=32, hidden=4096, heads=32, ffn_hidden=14336,
                                tied=False), 2, "full", {"megatron": {"fp32_accumulate": False}}),
}


def sizes(model):
    """layers, hidden, heads, vocab, seq of a GPT; or a dictionary of sizes."""
    if not isinstance(model, dict):
        model = dict(zip(("layers", "hidden", "heads", "vocab", "seq"), model))
    return {"name": "m", "family": "gpt", "vocab": 50257, **model}


def run_json(strategy, model, micro, batch, steps, layout=(1, 1, 1), rate=1e-4, gpu="gpu",
             training=None, **settings):
    """layout: tensor, pipeline, data."""
    tensor, pipeline, data = layout
    ranks = tensor * pipeline * data
    base = dict(SETTINGS[strategy])
    if strategy == "megatron":
        base.update(tensor_parallel=tensor, pipeline_parallel=pipeline)
    backend = strategy if strategy in ("ddp", "megatron") else "zero3"
    return {
        "version": 1, "experiment": "gpu", "strategy": strategy, "backend": backend,
        "backend_version": "0", "cluster": "here", "partition": "here", "gpu": gpu, "gpus": ranks,
        "nodes": 1, "gpus_per_node": ranks, "tensor_parallel": tensor,
        "pipeline_parallel": pipeline, "data_parallel": data, "micro_batch": micro,
        "accumulate": batch // (micro * data), "global_batch": batch, "rampup": None,
        "tokens": 1e9, "steps": steps,
        "model": sizes(model),
        "settings": {**base, **settings},
        "training": {"learning_rate": rate, "min_learning_rate": rate, "schedule": "constant",
                     "seed": 3, "tensorboard": False, **(training or {})},
        "job": {},
    }


def measured(name, value, unit, beside=None, **facts):
    """A number for the record of tests/gpu/all. beside: the same of another program, measured in the same
    call: machines differ, and the ratio counts."""
    row = {"name": name, "value": value, "unit": unit, **({"beside": beside} if beside else {}), **facts}
    if place := os.environ.get("ORCH_GPU_ROWS"):
        with open(place, "a") as file:
            file.write(json.dumps(row) + "\n")


def checkpoint_names(folder):
    try:
        return sorted(os.listdir(os.path.join(folder, "checkpoints")))
    except FileNotFoundError:
        return []


def merged_losses(folder):
    """Of all attempts, by step; where a step was done twice, the last."""
    losses, attempts = {}, os.path.join(folder, "attempts")
    for number in sorted(os.listdir(attempts), key=int):
        try:
            with open(os.path.join(attempts, number, "events.jsonl")) as file:
                events = [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            continue
        losses.update({e["step"]: e["loss"] for e in events if e["event"] == "step"})
    return losses


@contextlib.contextmanager
def mps():
    """NVIDIA's server through which processes share a GPU at the same time; without it they take turns."""
    if not shutil.which("nvidia-cuda-mps-control"):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(CUDA_MPS_PIPE_DIRECTORY=folder, CUDA_MPS_LOG_DIRECTORY=folder)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
        try:
            yield
        finally:
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True)
            del os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]


def several_at_once(cases, work, ranks_in_all=12, layout_of=lambda case: case[1]):
    """Each case with work(case), in order; as many beside each other as have that many ranks together."""
    places, entering = threading.Semaphore(ranks_in_all), threading.Lock()

    def enter(case):
        ranks = math.prod(layout_of(case))
        with entering:  # one at a time: two that are only partly started would wait for each other
            for _ in range(ranks):
                places.acquire()
        try:
            return work(case)
        finally:
            places.release(ranks)

    with concurrent.futures.ThreadPoolExecutor(ranks_in_all) as pool:
        yield from zip(cases, pool.map(enter, cases))


def free_port():
    """Drawn below those that the kernel gives to outgoing connections: sections run beside each other."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


class Attempt:
    """All ranks of a run, on one GPU: each calls itself another host, or NCCL refuses. Or the first of
    them alone, as if the others were there. `number`: of the attempt, in a folder that has several.
    `under`: a program that starts each rank, such as a debugger."""

    def __init__(self, trainers, run, folder=None, alone=False, number=1, under=()):
        self.made = None if folder else tempfile.TemporaryDirectory()
        self.folder = folder or self.made.name
        self.attempt = os.path.join(self.folder, "attempts", str(number))
        os.makedirs(self.attempt, exist_ok=True)
        with open(os.path.join(self.folder, "run.json"), "w") as file:
            json.dump(run, file)
        port, self.ranks = free_port(), []
        for rank in range(1 if alone else run["gpus"]):
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": "0",
                           "WORLD_SIZE": str(run["gpus"]), "MASTER_ADDR": "127.0.0.1",
                           "MASTER_PORT": str(port), "NCCL_HOSTID": f"host{rank}",
                           "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1",
                           **({"ORCH_PROBE": "1"} if alone else {})}
            with open(self.log(rank), "w") as log:
                self.ranks.append(subprocess.Popen(
                    [*under, os.path.join(trainers, "orch-train-" + run["backend"]), "--run",
                     self.folder + "/run.json", "--attempt", self.attempt],
                    env=environment, stdout=log, stderr=subprocess.STDOUT))

    def log(self, rank):
        return os.path.join(self.attempt, f"log-{rank}")

    def said(self, rank):
        """Without the frames of C++ that PyTorch adds to an error: they hide it."""
        with open(self.log(rank), errors="replace") as file:
            return "".join(line for line in file if not line.startswith("frame #"))

    def events(self):
        try:
            with open(self.attempt + "/events.jsonl") as file:
                return [json.loads(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def steps(self):
        return [e for e in self.events() if e["event"] == "step"]

    def finished(self):
        return os.path.exists(os.path.join(self.attempt, "finished"))

    def alive(self):
        return all(rank.poll() is None for rank in self.ranks)

    def wait_for_step(self, step, seconds=120):
        """False if the ranks end, or time is up, before that step is done."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if any(event["step"] >= step for event in self.steps()[-1:]):
                return True
            if not self.alive():
                return False
            time.sleep(0.01)
        return False

    def signal(self, number, ranks=None):
        for rank in self.ranks if ranks is None else [self.ranks[r] for r in ranks]:
            if rank.poll() is None:
                rank.send_signal(number)

    def complain(self, what):
        """What was wrong, with the end of every rank's log."""
        return f"{what}\n" + "\n".join(f"-- rank {rank} of {self.attempt}\n{self.said(rank)[-1500:]}"
                                       for rank in range(len(self.ranks)))

    def wait(self, seconds=300):
        """Exit codes; None of those who had to be killed."""
        deadline, codes = time.monotonic() + seconds, []
        for rank in self.ranks:
            try:
                codes.append(rank.wait(max(0.0, deadline - time.monotonic())))
            except subprocess.TimeoutExpired:
                codes.append(None)
        for rank in self.ranks:
            if rank.poll() is None:
                rank.send_signal(signal.SIGKILL)
                rank.wait()
        return codes


def train(trainers, run, **how):
    attempt = Attempt(trainers, run, **how)
    codes = attempt.wait()
    if any(code != 0 for code in codes):
        sys.exit("\n".join(attempt.said(rank)[-2000:] for rank in range(len(codes))))
    return attempt
