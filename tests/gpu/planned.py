#!/usr/bin/env python3
"""What orch plans, on a machine with a GPU: slices of a large plan, and one file for our trainers and
PyTorch's.

    planned.py build/train-cuda/bin probe      memory and time of one rank of each stage, beside the estimate
    planned.py build/train-cuda/bin one_h200   experiments/one_h200.lua, as far as it needs nothing but PyTorch

Needs orch itself: build/core/bin/orch, or what ORCH names. Exit code 77: there is none, nothing was run.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from trainers import measured  # noqa: E402

EXPERIMENTS = os.path.join(ROOT, "experiments")


def call(orch, *arguments):
    done = subprocess.run([orch, *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"orch {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def with_trainers(orch, trainers):
    """A copy of orch that has these trainers beside it, where it looks for them."""
    copy, there = os.path.join(ROOT, "build", "gpu-orch"), os.path.join(os.path.dirname(orch), "..")
    shutil.rmtree(copy, ignore_errors=True)
    if os.path.isdir(plugins := os.path.join(there, "plugins")):  # a build folder
        shutil.copytree(plugins, os.path.join(copy, "plugins"))
        os.makedirs(os.path.join(copy, "bin"))
        shutil.copy2(orch, os.path.join(copy, "bin", "orch"))
    else:  # a bundle
        shutil.copytree(there, copy)
    shutil.copytree(trainers, os.path.join(copy, "bin"), dirs_exist_ok=True,
                    ignore=lambda folder, names: ["orch"])
    return os.path.join(copy, "bin", "orch")


def probe(orch, folder):
    plan = [os.path.join(EXPERIMENTS, "200b.lua"), "--where", "tensor_parallel == 8", "-o",
            os.path.join(folder, "probes")]
    print(call(orch, "probe", *plan), flush=True)
    for record in json.loads(call(orch, "probe", *plan, "--show", "--format", "json"))["records"]:
        got, estimate = record["measured"], record["estimated"]
        what = f"probe: 200b, tensor parallel 8, stage {record['stage']}"
        measured(what + ", step", got["step_seconds"], "s", estimated=estimate["step_seconds"])
        measured(what + ", memory", got["peak_memory_bytes"] / 2**30, "GiB",
                 estimated=estimate["peak_memory_bytes"] / 2**30)


def one_h200(orch, folder):
    runs = ["--runs", os.path.join(folder, "runs")]
    print(call(orch, "run", os.path.join(EXPERIMENTS, "one_h200.lua"), "-y", "--where",
               'framework == "" or framework == "torch"', *runs), flush=True)
    for run in json.loads(call(orch, "status", "one_h200", *runs, "--format", "json"))["runs"]:
        if run["state"] == "planned":
            continue  # of another framework
        if run["state"] != "finished":
            sys.exit(f"{run['id']}: {run['state']}")
        measured(f"one_h200: {run['id'].rpartition('-')[0]}", run["tokens_per_second"], "tokens/s",
                 loss=run["last_loss"], estimated=run["estimated_tokens_per_second"],
                 peak_gib=run["peak_memory_bytes"] / 2**30,
                 **({"theirs": True} if "torch" in run["id"] else {}))


def main():
    trainers, what = sys.argv[1:]
    orch = os.environ.get("ORCH", os.path.join(ROOT, "build", "core", "bin", "orch"))
    if not os.path.exists(orch):
        print(f"{orch}: not found; build it (./orch --version), or name one in ORCH")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        {"probe": probe, "one_h200": one_h200}[what](with_trainers(orch, trainers), folder)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in ("probe", "one_h200"):
        sys.exit(__doc__)
    sys.exit(main())
