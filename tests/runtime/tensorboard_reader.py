#!/usr/bin/env python3
"""Prints the scalars of a TensorBoard event file, written from the formats' descriptions alone.

  tensorboard_reader.py FILE    one line "STEP TAG VALUE" each; exit code 1 where anything is wrong
"""
import struct
import sys


def crc32c(data):  # bit by bit, with the published polynomial and reflected input
    def reflect(number, bits):
        return int(f"{number:0{bits}b}"[::-1], 2)

    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= reflect(byte, 8) << 24
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1EDC6F41 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return reflect(crc ^ 0xFFFFFFFF, 32)


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert length_crc == masked(data[at:at + 8]), f"length at {at}"
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, f"short record at {at}"
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == masked(body), f"data at {at}"
        yield body
        at += 16 + length


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return number, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            (value,), at = struct.unpack_from("<d", data, at), at + 8
        elif kind == 5:
            (value,), at = struct.unpack_from("<f", data, at), at + 4
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "short field"
        else:
            raise AssertionError(f"wire type {kind}")
        yield key >> 3, value


assert crc32c(b"123456789") == 0xE3069283
with open(sys.argv[1], "rb") as file:
    events = [list(fields(body)) for body in records(file.read())]
assert dict(events[0])[3] == b"brain.Event:2", "the first record names the version"
for event in events[1:]:
    event = dict(event)  # 1: wall time, 2: step, 5: summary
    assert event[1] > 1.6e9, "the time is in seconds since 1970"
    for _, value in fields(event[5]):
        value = dict(value for value in fields(value))
        print(event[2], value[1].decode(), value[2])
