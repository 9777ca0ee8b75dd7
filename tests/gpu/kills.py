#!/usr/bin/env python3
"""A training that is killed at random moments and goes on in another layout each time, over NCCL on one
GPU: its losses are those of a run that was never interrupted.

    kills.py build/train-cuda/bin [--kills 20] [--minutes M] [--seed N] [--cpu]

--cpu: layouts of one rank, on the CPU, where there is no GPU
--minutes: other models and layouts, of as many kills each, until that many minutes are over (a soak).
Exit code 1 if a loss differs by more than 1e-5, a rank fails by itself, or one outlives a kill.
"""
import argparse
import os
import random
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainers import Attempt, checkpoint_names, measured, merged_losses, run_json  # noqa: E402

GPT = dict(layers=4, hidden=128, heads=8, vocab=512, seq=64)
LLAMA = dict(GPT, family="llama", kv_heads=4, ffn_hidden=352, rope_theta=1e4, tied=False)
LAYOUTS = [  # strategy, (tensor, pipeline, data), settings
    ("ddp", (1, 1, 1), {}), ("ddp", (1, 1, 2), {}),
    ("megatron", (1, 1, 1), {"recompute": "full"}), ("megatron", (2, 1, 1), {"sequence_parallel": True}),
    ("megatron", (1, 2, 1), {}), ("megatron", (1, 1, 2), {"zero_stage": 1}),
    ("megatron", (1, 1, 2), {"zero_stage": 1, "offload": "optimizer"}), ("megatron", (1, 2, 1), {"interleave": 2}),
    ("zero3", (1, 1, 1), {"offload": "full"}), ("zero3", (1, 1, 2), {}), ("zero3", (1, 1, 2), {"offload": "optimizer"}),
    ("fsdp", (1, 1, 2), {"sharding": "grad_op"}), ("deepspeed", (1, 1, 2), {"stage": 2}),
]
TIMEOUT = 60


class Round:
    """One training with its kills."""

    def __init__(self, trainers, gpu, model, dice, folder, kills):
        self.trainers, self.gpu, self.model, self.dice, self.folder = trainers, gpu, model, dice, folder
        self.kills, self.steps, self.number = kills, 8 * kills, 0
        self.layouts = [one for one in LAYOUTS if gpu != "cpu" or one[1] == (1, 1, 1)]
        self.layouts_used = set()

    def start(self, folder, strategy, layout, settings):
        dropout = 0.0 if self.model is LLAMA else 0.1
        run = run_json(strategy, self.model, 1, 8, self.steps, layout, 1e-3, gpu=self.gpu, dtype="fp32",
                       training={"checkpoint_every": 2, "keep_checkpoints": 2, "epsilon": 1e-5,
                                 "dropout": dropout, "collective_timeout": TIMEOUT}, **settings)
        self.number += 1
        return Attempt(self.trainers, run, folder, number=self.number)

    def start_any(self):
        strategy, layout, settings = self.dice.choice(self.layouts)
        self.layouts_used.add((strategy, layout, str(settings)))
        return self.start(self.folder + "/killed", strategy, layout, settings)

    def kill(self):
        """Kills all ranks, or one of them, after some more steps; what was wrong, if anything."""
        done = max(merged_losses(self.folder + "/killed"), default=0) if self.number else 0
        attempt = self.start_any()
        after = self.dice.randint(-1, 7)
        if after < 0:
            time.sleep(self.dice.uniform(0, 3))  # while it starts
        elif not attempt.wait_for_step(min(done + after, self.steps - 2)) and not attempt.finished():
            attempt.wait(0)
            return attempt.complain("it came no further by itself")
        time.sleep(self.dice.uniform(0, 0.03))
        victims = [self.dice.randrange(len(attempt.ranks))] if self.dice.random() < 0.3 else None
        attempt.signal(signal.SIGKILL, victims)
        codes = attempt.wait(TIMEOUT + 30)
        return attempt.complain("a rank outlived the death of another") if None in codes else ""

    def run(self):
        """What was wrong, or the largest difference of a loss."""
        os.makedirs(self.folder + "/killed/attempts")
        for _ in range(self.kills):
            if wrong := self.kill():
                return wrong
        last = self.start_any()
        if any(code != 0 for code in last.wait(300)) or not last.finished():
            return last.complain("it did not finish")
        names = checkpoint_names(self.folder + "/killed")
        if len(names) != 2 or names[-1] != f"step-{self.steps:08d}":
            return f"at the end there are {names}"
        whole = self.start(self.folder + "/whole", "megatron", (1, 1, 1), {})
        if any(code != 0 for code in whole.wait(300)) or not whole.finished():
            return whole.complain("the uninterrupted run failed")
        got, wanted = (merged_losses(self.folder + name) for name in ("/killed", "/whole"))
        if got.keys() != wanted.keys():
            return f"steps {sorted(wanted.keys() ^ got.keys())} are in one of the two runs only"
        return max(abs(got[step] - wanted[step]) for step in wanted)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainers", help="the folder they were built into")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    arguments = parser.parse_args()
    dice, began = random.Random(arguments.seed), time.monotonic()
    print(f"seed {arguments.seed}", flush=True)
    kills, worst, rounds = 0, 0.0, 0
    while rounds == 0 or (arguments.minutes and time.monotonic() - began < 60 * arguments.minutes):
        model = dice.choice([GPT, LLAMA])
        with tempfile.TemporaryDirectory() as folder:
            this = Round(arguments.trainers, "cpu" if arguments.cpu else "gpu", model, dice, folder,
                         arguments.kills)
            result = this.run()
        if isinstance(result, str):
            print(f"FAILED  round {rounds + 1}: {result}")
            return 1
        rounds, kills, worst = rounds + 1, kills + this.kills, max(worst, result)
        print(f"{'ok    ' if result <= 1e-5 else 'FAILED'}  {this.kills} kills, {len(this.layouts_used)} layouts, "
              f"{model.get('family', 'gpt')}: losses differ by {result:.2g} "
              f"({time.monotonic() - began:.0f} s)", flush=True)
        if result > 1e-5:
            return 1
    measured("kills", kills, "kills", worst_loss_difference=worst, rounds=rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
