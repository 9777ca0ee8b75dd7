"""Whether run folders are whole: whole.py FOLDER [REFERENCE], the runs of one experiment and the
same runs of a process that nobody disturbed. Prints how many there are."""

import json
import os
import sys


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def check(folder, reference):
    files = ("estimate.json", "job.sbatch", "provenance.json", "run.json")
    assert sorted(os.listdir(folder)) == sorted(files), os.listdir(folder)
    run = read(folder, "run.json")
    for text in (run, read(folder, "estimate.json"), read(folder, "provenance.json")):
        json.loads(text)
    script = read(folder, "job.sbatch")
    assert script.startswith(b"#!/bin/bash\n") and script.endswith(b"\nmain\n"), folder
    if reference:
        assert run == read(reference, "run.json"), folder
    return run


runs, *reference = sys.argv[1:]
names = [name for name in os.listdir(runs) if not name.startswith(".")]
contents = {
    check(os.path.join(runs, name), reference and os.path.join(reference[0], name)) for name in names
}
assert len(contents) == len(names), "one folder per run"
print(len(names))
