#!/usr/bin/env python3
"""Checks that `hirc check` finds what is missing: mutants.py HIRC.

Each example, compiled, loses one wait, synchronize or deallocate of a symmetric view at a time; `hirc check
--strict` must refuse each of these programs, and take the one it comes from.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CASES = [(path,) for path in sorted(ROOT.glob("examples/*.hir")) + sorted(ROOT.glob("tests/vary/programs/*.hir"))]
CASES += [(ROOT / "examples" / f"{name}.hir", f"--pipeline={kind}", "--np=4")
          for name in ("ag_matmul", "matmul_reduce_scatter") for kind in ("permute", "collective", "p2p", "p2p-put")]
CASES += [(path, "--passes=") for path in sorted(ROOT.glob("tests/run/symmetric_*.hir"))]


def run(hirc, arguments, text=None):
    return subprocess.run([hirc, *arguments], input=text, capture_output=True, text=True, timeout=60, check=False)


def check(hirc, lines):
    return run(hirc, ["check", "-", "--passes=", "--strict"], "\n".join(lines) + "\n")


def without(lines):
    """What went, and the program without it."""
    views = {m[1] for m in (re.match(r"\s*(\w+)(: .*)? = symmetric_view\(", line) for line in lines) if m}
    for k, line in enumerate(lines):
        ended = re.match(r"\s*deallocate\((\w+)\)", line)
        if re.match(r"\s*(wait|synchronize)\(", line) or (ended and ended[1] in views):
            yield f"line {k + 1}: {line.strip()}", lines[:k] + lines[k + 1:]


def main():
    hirc = sys.argv[1]
    count = failed = 0
    for path, *options in CASES:
        dump = run(hirc, ["compile", str(path), "--dump=hir", *options])
        lines = dump.stdout.splitlines()
        cases = [(0, "as it is", lines)]
        cases += [(1, f"without {what}", text) for what, text in without(lines)]
        for code, what, text in cases:
            count += 1
            got = check(hirc, text)
            said = re.search(r"error: (race|lifetime|mismatch|wait): ", got.stderr)
            if got.returncode != code or bool(said) != bool(code):
                failed += 1
                print(f"failed: {path.relative_to(ROOT)} {' '.join(options)} {what}: exit {got.returncode}, not {code}")
                print("\n".join((got.stdout + got.stderr).splitlines()[:4]))
    print(f"{count - failed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
