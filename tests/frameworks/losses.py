"""Compares the losses of all runs of a folder with those of our ddp, step by step.

    losses.py runs/gpt STEPS TOLERANCE
"""
import json, pathlib, sys


def losses(folder):
    file = folder / "attempts/1/events.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    events = [json.loads(line) for line in lines]
    return {event["step"]: event["loss"] for event in events if event["event"] == "step"}


def main():
    folder, steps, tolerance = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    runs = {path.parent.name: path for path in sorted(folder.glob("*/run.json"))}
    ours = next(name for name, path in runs.items()
                if "framework" not in json.loads(path.read_text()) and "-ddp-" in name)
    wanted, bad = losses(folder / ours), 0
    if sorted(wanted) != list(range(1, steps + 1)):
        sys.exit(f"{ours}: steps {sorted(wanted)}")
    print(f"largest difference of a loss from {ours}, relative, over {steps} steps:")
    for name in runs:
        found = losses(folder / name)
        if sorted(found) != sorted(wanted):
            print(f"  {name}: steps {sorted(found)}")
            bad += 1
            continue
        worst = max(abs(found[step] - wanted[step]) / wanted[step] for step in wanted)
        print(f"  {worst:.1e}  {name}")
        bad += worst > tolerance
    sys.exit(f"{bad} runs differ by more than {tolerance}" if bad else 0)


if __name__ == "__main__":
    main()
