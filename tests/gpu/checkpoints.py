#!/usr/bin/env python3
"""Checkpoints as a user meets them. Every trainer writes six and keeps two; goes on over what a killed
attempt left behind; is asked to stop, and goes on from there. Its losses are those of a run that was
never interrupted, and its TensorBoard file can be read.

    checkpoints.py build/train-cuda/bin [--cpu] [--beside build/core/bin] [--orch build/core/bin/orch]

--cpu:    one rank each, on the CPU, where there is no GPU: the same programs, without their kernels
--beside: the uninterrupted runs are those of the trainers there, of another LibTorch
--orch:   the weights are exported, too

Exit code 1 if anything is not as it should be.
"""
import argparse
import contextlib
import glob
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from trainers import (Attempt, checkpoint_names, merged_losses, mps, run_json,  # noqa: E402
                      several_at_once)

SMALL = dict(layers=4, hidden=128, heads=8, vocab=512, seq=64)
ONE_LAYER = dict(SMALL, layers=1)
ODD = dict(family="llama", layers=2, hidden=40, heads=2, kv_heads=2, head_dim=8, ffn_hidden=24, vocab=257, seq=1,
           rope_theta=1e4, qkv_bias=True, tied=False)
ON_CPU = [  # strategy, (tensor, pipeline, data), settings
    ("ddp", (1, 1, 1), {}), ("megatron", (1, 1, 1), {}), ("megatron", (1, 1, 1), {"offload": "optimizer"}),
    ("zero3", (1, 1, 1), {}), ("zero3", (1, 1, 1), {"offload": "full"}),
]
ON_GPU = [
    ("ddp", (1, 1, 1), {"dtype": "bf16"}), ("ddp", (1, 1, 2), {}),
    ("megatron", (1, 1, 1), {"dtype": "bf16"}), ("megatron", (2, 1, 1), {}), ("megatron", (1, 2, 1), {}),
    ("megatron", (1, 1, 2), {"zero_stage": 1, "offload": "optimizer"}),
    ("zero3", (1, 1, 1), {"dtype": "bf16", "offload": "full"}), ("zero3", (1, 1, 2), {}),
    ("fsdp", (1, 1, 2), {"sharding": "grad_op"}),
    # Pieces of many lengths, and stages without parameters.
    ("megatron", (2, 1, 4), {"zero_stage": 1, "model": ODD}),
    ("megatron", (1, 4, 1), {"stage_layers": "1,0,0,0", "offload": "optimizer", "model": ONE_LAYER}),
]


class Wrong(Exception):
    pass


def demand(condition, what):
    if not condition:
        raise Wrong(what)


def step_name(step):
    return f"step-{step:08d}"


class Case:
    def __init__(self, trainers, beside, gpu, strategy, layout, settings):
        self.trainers, self.beside = trainers, beside
        self.gpu, self.strategy, self.layout = gpu, strategy, layout
        self.settings = {"dtype": "fp32", **settings}
        self.model = self.settings.pop("model", SMALL)

    def start(self, folder, number, steps, trainers=None):
        dropout = 0.0 if self.model is ODD else 0.1
        run = run_json(self.strategy, self.model, 1, 8, steps, self.layout, 1e-3, gpu=self.gpu,
                       training={"checkpoint_every": 3, "keep_checkpoints": 2, "tensorboard": True,
                                 "epsilon": 1e-5, "dropout": dropout}, **self.settings)
        return Attempt(trainers or self.trainers, run, folder, number=number)

    def finish(self, attempt):
        codes = attempt.wait(240)
        demand(all(code == 0 for code in codes) and attempt.finished(), attempt.complain(f"exit codes {codes}"))
        return attempt

    def run(self, folder):
        """The last step."""
        broken = os.path.join(folder, "interrupted")
        self.finish(self.start(broken, 1, 16))
        names = checkpoint_names(broken)
        demand(names == [step_name(15), step_name(16)], f"after 16 steps there are {names}")
        last = self.stop(broken)
        self.finish(self.start(broken, 3, last + 4))
        names = checkpoint_names(broken)
        demand(len(names) == 2 and names[-1] == step_name(last + 4), f"at the end there are {names}")
        whole = os.path.join(folder, "whole")
        self.finish(self.start(whole, 1, last + 4, self.beside))
        self.compare(merged_losses(broken), merged_losses(whole))
        self.read_tensorboard(os.path.join(broken, "attempts", "3"), last + 4)
        return broken

    def stop(self, folder):
        """An attempt over what a killed one left, that is asked to stop; the step it came to."""
        for name in (f"{step_name(18)}.dead.writing/deep/rank-0.safetensors.tmp",
                     f"{step_name(3)}.removing/rank-0.safetensors"):
            path = os.path.join(folder, "checkpoints", name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w") as file:
                file.write("half")
        attempt = self.start(folder, 2, 1_000_000)
        demand(attempt.wait_for_step(19), attempt.complain("it did not resume"))
        demand(attempt.steps()[0]["step"] == 17, f"it resumed at step {attempt.steps()[0]['step']}")
        attempt.signal(signal.SIGUSR1, [0])
        codes = attempt.wait(120)
        demand(all(code == 0 for code in codes) and not attempt.finished(), attempt.complain(f"stop: exit codes {codes}"))
        last = attempt.steps()[-1]["step"]
        names = checkpoint_names(folder)
        demand(len(names) == 2 and names[-1] == step_name(last), f"after the stop there are {names}")
        return last

    def compare(self, got, wanted):
        demand(got.keys() == wanted.keys(), "other steps than the uninterrupted run")
        self.worst = max(abs(got[step] - wanted[step]) for step in wanted)
        most = 0.02 if self.settings["dtype"] == "bf16" else 1e-5
        demand(self.worst <= most, f"losses differ by {self.worst:.2g} from the uninterrupted run")

    def read_tensorboard(self, attempt, last):
        files = glob.glob(attempt + "/tensorboard/events.out.tfevents.*")
        demand(len(files) == 1, f"TensorBoard files: {files}")
        reader = os.path.join(HERE, "..", "runtime", "tensorboard_reader.py")
        done = subprocess.run([sys.executable, reader, files[0]], capture_output=True, text=True)
        demand(done.returncode == 0, done.stderr)
        demand(any(line.startswith(f"{last} loss ") for line in done.stdout.splitlines()),
               f"TensorBoard has no loss of step {last}")


def export(orch, folder):
    done = subprocess.run([orch, "export", folder, "-o", os.path.join(folder, "exported")], capture_output=True,
                          text=True)
    demand(done.returncode == 0 and os.path.exists(os.path.join(folder, "exported", "model.safetensors")),
           f"orch export: {done.stdout}{done.stderr}")


def refuse_several_ranks(trainers):
    """Gloo is not in LibTorch's wheel."""
    attempt = Attempt(trainers, run_json("ddp", SMALL, 1, 8, 1, (1, 1, 2), gpu="cpu", dtype="fp32"))
    codes = attempt.wait(60)
    failed = [e for e in attempt.events() if e["event"] == "failed"]
    demand(codes == [1, 1] and failed and "backends/build cpu" in failed[0]["message"],
           attempt.complain(f"two ranks on the CPU: exit codes {codes}"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trainers", help="the folder they were built into")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--beside")
    parser.add_argument("--orch")
    arguments = parser.parse_args()

    def outcome(entry):
        case = Case(arguments.trainers, arguments.beside, "cpu" if arguments.cpu else "gpu", *entry)
        with tempfile.TemporaryDirectory() as folder:
            try:
                ended = case.run(folder)
                if arguments.orch:
                    export(arguments.orch, ended)
                return True, f"losses differ by {case.worst:.2g}"
            except Wrong as wrong:
                return False, str(wrong)

    good = True
    if arguments.cpu:
        refuse_several_ranks(arguments.trainers)
    with contextlib.nullcontext() if arguments.cpu else mps():
        for (strategy, layout, settings), (passed, said) in several_at_once(
                ON_CPU if arguments.cpu else ON_GPU, outcome, 2 if arguments.cpu else 12):
            good &= passed
            print(f"{'ok    ' if passed else 'FAILED'}  {strategy} {'x'.join(map(str, layout))} {settings or ''}: {said}",
                  flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
