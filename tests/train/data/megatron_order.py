#!/usr/bin/env python3
"""Prints what samples_test.cpp expects: the order of Megatron-LM's GPT dataset (gpt_dataset.py and
helpers.cpp in megatron/core/datasets), with numpy's own shuffle. Needs numpy; the tests do not."""
import zlib

import numpy as np


def order(sizes, first, seq, wanted, seed):
    tokens = int(np.sum(sizes))
    epochs, have = 1, tokens
    while wanted and have < wanted * seq + 1:
        epochs, have = epochs + 1, have + tokens
    before = ((epochs - 1) * tokens - 1) // seq
    apart = epochs > 1 and wanted - before < int(0.80 * ((tokens - 1) // seq))
    random = np.random.RandomState(seed)

    def documents(count):
        index = np.tile(np.arange(first, first + len(sizes), dtype=np.int32), count)
        random.shuffle(index)
        return index.tolist()

    index = documents(epochs - 1) + documents(1) if apart else documents(epochs)
    samples = (epochs * tokens - 1) // seq
    starts, place, offset = [(0, 0)], 0, 0
    while len(starts) <= samples:
        remaining = seq + 1
        while remaining != 0:
            length = sizes[index[place] - first] - offset
            remaining -= length
            if remaining <= 0:
                offset += remaining + length - 1
                remaining = 0
            else:
                place, offset = place + 1, 0
        starts.append((place, offset))

    def range_of(begin, end):
        index = np.arange(begin, end, dtype=np.uint32)
        random.shuffle(index)
        return index.tolist()

    shuffle = range_of(0, before) + range_of(before, samples) if apart else range_of(0, samples)
    return index, starts, shuffle


def crc(values):
    return zlib.crc32(np.array(values, dtype=np.uint32).tobytes())


random = np.random.RandomState(2**32 - 1)
large = np.arange(100000, dtype=np.uint32)
random.shuffle(large)
small = np.arange(5, dtype=np.uint32)
random.shuffle(small)
print("shuffle:", crc(large), small)
print("one epoch:", order([5, 3, 7, 1, 4, 6], 0, 4, 0, 1234))
print("apart:", order([5, 3, 7, 1, 4, 6], 10, 4, 14, 7))
sizes = [i * 7919 % 613 for i in range(5000)]
for wanted in 3000, 12000:
    print(wanted, "of many:", [crc(part) for part in order(sizes, 100, 128, wanted, 1234)])
sizes = [5, 0, 3, 7, 1, 4, 6]
begins = np.cumsum([0] + sizes)
index, _, shuffle = order(sizes, 0, 4, 8, 42)
stream = [t for d in index for t in range(begins[d], begins[d + 1])]
print("tokens:", [stream[i * 4:i * 4 + 5] for i in shuffle])
