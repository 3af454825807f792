#!/usr/bin/env python3
"""Checks that `hirc check` finds missing statements: mutants.py HIRC [SEEDS].

Each example, compiled, loses one wait, synchronize or deallocate of a symmetric view at a time; `hirc check --strict`
must refuse each of these programs, and accept the original.

With SEEDS, the programs that `hirc check` refuses without --strict are run instead under `--adversary` with the seeds
1 to SEEDS, and compared with the original: nearly all must give wrong numbers, and no original may.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALL = {"ag_linear": ("-D", "m=4", "-D", "k=8", "-D", "n=6", "--np=2")}
CASES = [(path, *SMALL.get(path.stem, ()))
         for path in sorted(ROOT.glob("examples/*.hir")) + sorted(ROOT.glob("tests/vary/programs/*.hir"))]
CASES += [(ROOT / "examples" / f"{name}.hir", f"--pipeline={kind}", "--np=4")
          for name in ("ag_matmul", "matmul_reduce_scatter") for kind in ("permute", "collective", "p2p", "p2p-put")]
CASES += [(path, "--passes=") for path in sorted(ROOT.glob("tests/run/symmetric_*.hir"))]
# Share of the refused programs in which only the caller, which waits for all ranks, comes too early.
MOST_HIDDEN = 0.15


def run(hirc, arguments, text=None):
    return subprocess.run([hirc, *arguments], input=text, capture_output=True, text=True, timeout=60, check=False)


def check(hirc, lines):
    return run(hirc, ["check", "-", "--passes=", "--strict"], "\n".join(lines) + "\n")


def without(lines):
    """Returns the removed statement, and the program without it."""
    views = {m[1] for m in (re.match(r"\s*(\w+)(: .*)? = symmetric_view\(", line) for line in lines) if m}
    for k, line in enumerate(lines):
        ended = re.match(r"\s*deallocate\((\w+)\)", line)
        if re.match(r"\s*(wait|synchronize)\(", line) or (ended and ended[1] in views):
            yield f"line {k + 1}: {line.strip()}", lines[:k] + lines[k + 1:]


def is_wrong(hirc, lines, reference, seed):
    """Returns true if a run of the program gives other numbers than the reference, or fails."""
    command = ["run", "-", "--passes=", f"--check={reference}", f"--adversary={seed}", "--timeout=5",
               "--no-check"]
    return run(hirc, command, "\n".join(lines) + "\n").returncode != 0


def disturb(hirc, seeds):
    """Runs the refused programs. Returns their number, and how many were wrong, by the first seed that showed it."""
    total, shown, broken = 0, [0] * (seeds + 1), 0
    with tempfile.NamedTemporaryFile("w", suffix=".hir") as reference:
        for path, *options in CASES:
            lines = run(hirc, ["compile", str(path), "--dump=hir", *options]).stdout.splitlines()
            reference.seek(0)
            reference.truncate()
            reference.write("\n".join(lines) + "\n")
            reference.flush()
            name = f"{path.relative_to(ROOT)} {' '.join(options)}"
            if run(hirc, ["run", "-", "--passes=", "--check"], "\n".join(lines) + "\n").returncode:
                continue  # the dump leaves out some facts of the program
            for seed in range(1, seeds + 1):
                if is_wrong(hirc, lines, reference.name, seed):
                    broken += 1
                    print(f"failed: {name}: wrong under seed {seed}")
            for what, text in without(lines):
                if not run(hirc, ["check", "-", "--passes="], "\n".join(text) + "\n").returncode:
                    continue
                total += 1
                first = next((s for s in range(1, seeds + 1) if is_wrong(hirc, text, reference.name, s)), 0)
                shown[first] += 1
                if not first:
                    print(f"right: {name} without {what}")
    print(f"{total - shown[0]} of {total} programs that check refuses gave wrong numbers, by seed {shown[1:]}")
    return broken or shown[0] > MOST_HIDDEN * total


def main():
    hirc = sys.argv[1]
    if len(sys.argv) > 2:
        sys.exit(disturb(hirc, int(sys.argv[2])))
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


if __name__ == "__main__":
    main()
