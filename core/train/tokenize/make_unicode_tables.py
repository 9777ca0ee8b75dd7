#!/usr/bin/env python3
"""Prints unicode_tables.inc: what canonical composition (NFC) needs to know of each character."""
import sys
import unicodedata

codes = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
print(f"// Made by make_unicode_tables.py from Unicode {unicodedata.unidata_version}.")
print("// Canonical combining classes: first, last, class.")
print("constexpr Combining kCombining[] = {")
classes = [(c, unicodedata.combining(chr(c))) for c in codes if unicodedata.combining(chr(c))]
runs = []
for code, kind in classes:
    if runs and runs[-1][1] == code - 1 and runs[-1][2] == kind:
        runs[-1][1] = code
    else:
        runs.append([code, code, kind])
entries = [f"{{{a:#x}, {b:#x}, {kind}}}," for a, b, kind in runs]
for i in range(0, len(entries), 4):
    print("    " + " ".join(entries[i:i + 4]))
print("};")
print("// Canonical decompositions: character, its parts (0: one only), whether they compose again.")
print("constexpr Decomposition kDecompositions[] = {")
entries = []
for code in codes:
    parts = unicodedata.decomposition(chr(code))
    if not parts or parts.startswith("<") or 0xAC00 <= code <= 0xD7A3:  # Hangul is computed
        continue
    numbers = [int(part, 16) for part in parts.split()] + [0]
    composes = int(unicodedata.normalize("NFC", chr(code)) == chr(code))
    entries.append(f"{{{code:#x}, {numbers[0]:#x}, {numbers[1]:#x}, {composes}}},")
for i in range(0, len(entries), 3):
    print("    " + " ".join(entries[i:i + 3]))
print("};")
