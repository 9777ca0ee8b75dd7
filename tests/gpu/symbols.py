#!/usr/bin/env python3
"""Every std:: symbol that a program of ours needs comes from libstdc++, as the dynamic linker binds it.

    symbols.py PROGRAM...

PyTorch's libraries export parts of an older libstdc++. A program that binds some of std::filesystem to
those and the rest to libstdc++.so.6 dies in the middle of a run: see cmake/torch.cmake.
Exit code 1 if one does.
"""
import collections
import os
import re
import subprocess
import sys

BINDING = re.compile(r"binding file (\S+) \[\d+\] to (\S+) \[\d+\]: normal symbol `([^']+)'")
# Mangled names in namespace std: functions, their const and reference kinds, tables and type information.
STD = re.compile(r"_Z(T[A-Z]|GV)?N?[VKRO]*S[tabsiod]")


def bindings(program):
    """(library, symbol) of all that the program itself needs. It is loaded, as by ldd -r, and not started."""
    environment = {**os.environ, "LD_DEBUG": "bindings", "LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes",
                   "LD_BIND_NOW": "yes"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, errors="replace")
    own = os.path.realpath(program)
    found = [(library, symbol) for needs, library, symbol in BINDING.findall(done.stderr)
             if os.path.realpath(needs) == own]
    if not found:
        sys.exit(f"{program}: the dynamic linker reports no bindings: {done.stderr[-500:]}")
    return found


def main():
    bad = False
    for program in sys.argv[1:]:
        needed = [(library, symbol) for library, symbol in bindings(program) if STD.match(symbol)]
        foreign = [(library, symbol) for library, symbol in needed
                   if not os.path.basename(library).startswith("libstdc++.so")
                   and os.path.realpath(library) != os.path.realpath(program)]
        by_library = collections.Counter(os.path.basename(library) for library, _ in foreign)
        print(f"{'FAILED' if foreign else 'ok    '}  {os.path.basename(program)}: {len(needed)} std:: symbols, "
              f"{len(foreign)} of them not from libstdc++ {dict(by_library) if foreign else ''}")
        for library, symbol in foreign[:10]:
            print(f"        {os.path.basename(library)}: {symbol}")
        bad |= bool(foreign) or not needed
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
