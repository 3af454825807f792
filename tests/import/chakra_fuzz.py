#!/usr/bin/env python3
"""Damages a trace in many ways: hirc imports it or reports an error, and its output is a program.

chakra_fuzz.py FILE.et [RUNS [SEED]]
"""
import random
import subprocess
import sys

WORDS = [b"\xff", b"\x00", b"\x80", b"[", b"]", b"-1", b"'", b"99999999999999999999", b"Tensor(",
         b"\xff\xff\xff\xff\x0f"]


def damage(r, content):
    out = bytearray(content)
    for _ in range(r.choice([1, 1, 2, 8])):
        at, how = r.randrange(len(out)), r.randrange(5)
        if how == 0:
            out[at] ^= 1 << r.randrange(8)
        elif how == 1:
            out[at] = r.randrange(256)
        elif how == 2:
            del out[at : at + r.randrange(1, 9)]
        elif how == 3:
            out[at:at] = r.choice(WORDS)
        else:
            other = r.randrange(len(out))
            out[at:at] = out[other : other + r.randrange(1, 60)]
        if not out:
            break
    return bytes(out if r.random() < 0.9 else out[: r.randrange(len(out) + 1)])


def main():
    content = open(sys.argv[1], "rb").read()
    r = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    made = 0
    for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 300):
        bad = damage(r, content)
        done = subprocess.run(["hirc", "import", "--group=world:4", "-"], input=bad, capture_output=True)
        again = done
        if done.returncode == 0:
            made += 1
            again = subprocess.run(["hirc", "compile", "--stop-after=parse", "--verify-roundtrip", "-"],
                                   input=done.stdout, capture_output=True)
        said = (done.stderr + again.stderr).decode(errors="replace")
        good = done.returncode == again.returncode == 0
        if not good and (done.returncode != 1 or "error:" not in said):
            with open("fuzz.et", "wb") as file:
                file.write(bad)
            sys.exit(f"fuzz.et: {done.returncode}, then {again.returncode}\n{said}")
    print("ok" if made else "no damage was harmless")


main()
