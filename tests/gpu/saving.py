#!/usr/bin/env python3
"""A checkpoint of real size, an 8B: seconds to save it, how long training stalls, seconds to resume.

    saving.py build/train-cuda/bin [--folder build/gpu-saving] [--model llama-8B-recompute]

With AdamW it has 12 bytes a parameter (96 GB); where the disk has no room for that, Adafactor has 4.
Exit code 1 if it does not resume.
"""
import argparse
import os
import shutil
import signal
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainers import MODELS, Attempt, measured, run_json  # noqa: E402

EVERY = 6


def parameters(model):
    head = model["hidden"] // model["heads"]
    layer = model["hidden"] * (2 * model["hidden"] + 2 * model["kv_heads"] * head + 3 * model["ffn_hidden"])
    return model["layers"] * layer + (1 if model["tied"] else 2) * model["vocab"] * model["hidden"]


def start(trainers, name, optimizer, folder, number):
    model, micro, recompute, *only = MODELS[name]
    settings = only[0]["megatron"] if only else {}
    run = run_json("megatron", model, micro, micro, 10_000, recompute=recompute, optimizer=optimizer,
                   training={"checkpoint_every": EVERY, "keep_checkpoints": 1}, **settings)
    return time.time(), Attempt(trainers, run, folder, number=number)


def event(attempt, name):
    return next((e for e in attempt.events() if e["event"] == name), None)


def wait_for(attempt, name, seconds=400):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and attempt.alive():
        if found := event(attempt, name):
            return found
        time.sleep(0.1)
    attempt.wait(0)
    sys.exit(attempt.complain(f"no '{name}' event"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainers", help="the folder they were built into")
    parser.add_argument("--folder", default="build/gpu-saving")
    parser.add_argument("--model", default="llama-8B-recompute")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.folder, ignore_errors=True)
    os.makedirs(arguments.folder)
    room = shutil.disk_usage(arguments.folder).free
    optimizer = "adamw" if room > 13 * parameters(MODELS[arguments.model][0]) else "adafactor"

    began, first = start(arguments.trainers, arguments.model, optimizer, arguments.folder, 1)
    startup = wait_for(first, "start")["time"] - began
    saved = wait_for(first, "checkpoint")
    first.wait_for_step(EVERY + 3)
    first.signal(signal.SIGKILL)
    first.wait(0)
    steps = {e["step"]: e["time"] for e in first.steps()}
    usual = statistics.median(steps[i + 1] - steps[i] for i in range(2, EVERY))
    stall = steps[EVERY + 1] - steps[EVERY] - usual
    # From then on until it is written; the last step may wait for that before it saves again.
    marks = [time for step, time in steps.items() if step > EVERY and time < saved["time"]] + [saved["time"]]
    beside = [b - a for a, b in zip(marks, marks[1:])]
    place = os.path.join(arguments.folder, "checkpoints", f"step-{saved['step']:08d}")
    size = sum(os.path.getsize(os.path.join(place, file)) for file in os.listdir(place))

    began, second = start(arguments.trainers, arguments.model, optimizer, arguments.folder, 2)
    resumed = wait_for(second, "start")["time"] - began
    second.wait_for_step(saved["step"] + 1)
    first_step = second.steps()[0]["step"]
    second.signal(signal.SIGKILL)
    second.wait(0)
    shutil.rmtree(arguments.folder)

    seconds = saved["time"] - steps[saved["step"]]
    slower = sum(max(0.0, gap - usual) for gap in beside)
    print(f"{arguments.model}, {optimizer}, {size / 1e9:.1f} GB: saved in {seconds:.1f} s ({size / 1e9 / seconds:.2f} "
          f"GB/s), training stalls for {stall:.2f} s and loses {slower:.2f} s beside it (a step takes {usual:.2f} s); "
          f"resumed in {resumed - startup:.1f} s more than a start takes ({startup:.1f} s), at step {first_step}")
    facts = {"model": arguments.model, "optimizer": optimizer, "gigabytes": size / 1e9}
    measured("saving: seconds to save", seconds, "s", **facts)
    measured("saving: seconds that training stalls", stall, "s", **facts)
    measured("saving: seconds lost while it is written", slower, "s", **facts)
    measured("saving: seconds to resume", resumed - startup, "s", **facts)
    return 0 if first_step == saved["step"] + 1 else 1


if __name__ == "__main__":
    sys.exit(main())
