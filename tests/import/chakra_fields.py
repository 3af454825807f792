#!/usr/bin/env python3
"""Takes one field after the other out of a trace: hirc imports and simulates the rest, or reports an error.

chakra_fields.py FILE.et
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chakra import varint  # noqa: E402

INSIDE = {8, 9, 10}  # inputs, outputs and attributes of a node are messages


def number(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return v, at


def fields(data):
    """The fields of a message: number, bytes, bytes of the content."""
    at, out = 0, []
    while at < len(data):
        start = at
        key, at = number(data, at)
        if key & 7 == 2:
            size, from_ = number(data, at)
            at = from_ + size
        else:
            from_ = at
            _, at = number(data, at)
        out.append((key >> 3, data[start:at], data[from_:at]))
    return out


def messages(data):
    at, out = 0, []
    while at < len(data):
        size, at = number(data, at)
        out.append(data[at : at + size])
        at += size
    return out


def without(message, inside):
    """Yields a message without one of its fields, or without one of the fields of such a field."""
    parts = fields(message)
    for k, (which, _, content) in enumerate(parts):
        before, after = (b"".join(p[1] for p in some) for some in (parts[:k], parts[k + 1 :]))
        yield before + after
        for shorter in without(content, set()) if which in inside else []:
            yield before + varint(which << 3 | 2) + varint(len(shorter)) + shorter + after


def run(*command, data):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    all_ = messages(open(sys.argv[1], "rb").read())
    imported = refused = 0
    for k, message in enumerate(all_):
        for shorter in without(message, INSIDE if k else {2}):
            changed = all_[:k] + [shorter] + all_[k + 1 :]
            data = b"".join(varint(len(m)) + m for m in changed)
            done = again = run("hirc", "import", "-", data=data)
            if done.returncode == 0:
                again = run("hirc", "sim", "-", data=data)
            imported += done.returncode == 0
            refused += done.returncode == 1
            for what in (done, again):
                if what.returncode not in (0, 1) or (what.returncode and b"error:" not in what.stdout):
                    with open("field.et", "wb") as file:
                        file.write(data)
                    sys.exit(f"field.et, message {k}: {what.returncode}\n{what.stdout.decode(errors='replace')}")
    print("ok" if imported and refused else f"{imported} imported, {refused} refused")


main()
