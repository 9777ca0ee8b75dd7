#!/usr/bin/env python3
"""Small trainings of every trainer under compute-sanitizer: no kernel reads or writes beyond its memory.

    sanitizer.py build/train-cuda/bin

Exit code 1 if one does; 77 if there is no compute-sanitizer.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainers import Attempt, run_json  # noqa: E402

# Sizes that are not multiples of the kernels' units: errors occur in the last rows and columns.
GPT = dict(layers=2, hidden=72, heads=3, vocab=203, seq=40)
LLAMA = dict(GPT, family="llama", heads=9, kv_heads=3, ffn_hidden=104, rope_theta=1e4, tied=False)
CASES = [("ddp", GPT, {"dtype": "bf16"}), ("megatron", LLAMA, {"dtype": "bf16"}),
         ("megatron", GPT, {"dtype": "fp32", "recompute": "full", "offload": "optimizer"}),
         ("zero3", LLAMA, {"dtype": "bf16", "offload": "full"})]


def main():
    if not shutil.which("compute-sanitizer"):
        print("compute-sanitizer: not found")
        return 77
    os.environ["CUDA_MODULE_LOADING"] = "LAZY"  # kernels that are never called need not be
                                                # instrumented
    bad = 0
    for backend, model, settings in CASES:
        run = run_json(backend, model, 3, 6, 3, rate=1e-3, training={"checkpoint_every": 2}, **settings)
        attempt = Attempt(sys.argv[1], run, under=["compute-sanitizer", "--error-exitcode", "9"])
        codes, said = attempt.wait(240), attempt.said(0)
        good = codes == [0] and attempt.finished() and "ERROR SUMMARY: 0 errors" in said
        print(f"{'ok    ' if good else 'FAILED'}  {backend} {model.get('family', 'gpt')} {settings}", flush=True)
        if not good:
            print(f"exit codes {codes}\n{said[:3000]}\n...\n{said[-1500:]}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
