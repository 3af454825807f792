#!/usr/bin/env python3
"""Checks that each mutant of a program is reported by `hirc check`, or gives right results under every delay.

    mutation.py --hirc build/dev/hirc                      all mutants of each program, seed 1
    mutation.py --hirc build/dev/hirc --every 9 --seeds 3  every ninth mutant, with three seeds
    mutation.py --hirc build/dev/hirc --show 'ag_matmul 12 drop'

The examples, compiled, lose one statement of streams, waits and communication (drop), have two neighbours swapped
(swap), or name another stream, Communication, root or peer (retarget). A mutant that `hirc check` refuses is killed;
the message names a line. A mutant that it accepts runs with --adversary, compared with its own reference, and must
give the right numbers. A text that does not parse or compile is not a mutant.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SMALLER = {"ag_linear": ["-D", "m=4", "-D", "k=8", "-D", "n=6"]}
CASES = [(path, SMALLER.get(path.stem, [])) for path in sorted(ROOT.glob("examples/*.hir"))]
CASES += [(ROOT / "examples" / f"{name}.hir", [f"--pipeline={kind}", "--np=3"])
          for name in ("ag_matmul", "matmul_reduce_scatter") for kind in ("permute", "collective", "p2p", "p2p-put")]
MUTABLE = re.compile(r"^\s*(\w+ = get_current_stream|set_stream|synchronize|wait|deallocate|send|recv|share_mem_handles|"
                     r"\w+ = symmetric_view|start_coalescing|end_coalescing|.* as \w+$)")
SIMPLE = re.compile(r"^\s+[^{}]*$")


def retargets(line, others):
    """Yields the line with each of its targets replaced, one at a time."""
    for call in ("set_stream", "synchronize"):
        m = re.match(rf"(\s*{call})\((.*)\)$", line)
        if m:
            yield f"{m[1]}({'0' if m[2] == 'main' else 'main'})"
            if m[2] != "main":
                yield f"{m[1]}({m[2]} + 1)"
    m = re.match(r"(\s*wait)\((\w+)\)$", line)
    if m:
        yield from (f"{m[1]}({other})" for other in others if other != m[2])
    for key in ("root", "peer", "send_peer", "recv_peer"):
        m = re.search(rf"\b{key}=((?:[^(),]|\((?:[^()]|\([^()]*\))*\))+)", line)
        if m:
            inner = re.match(r"device\((\w+), (.*)\)$", m[1])
            moved = f"device({inner[1]}, ({inner[2]} + 1) % size({inner[1]}))" if inner else f"{m[1]} + 1"
            yield line[:m.start(1)] + moved + line[m.end(1):]


def mutants(lines):
    """Yields the change and the program."""
    others = re.findall(r" as (\w+)$", "\n".join(lines), re.MULTILINE)[:3]
    for k, line in enumerate(lines):
        if not MUTABLE.match(line):
            continue
        yield f"{k + 1} drop: {line.strip()}", lines[:k] + lines[k + 1:]
        if k + 1 < len(lines) and SIMPLE.match(line) and SIMPLE.match(lines[k + 1]):
            yield f"{k + 1} swap: {line.strip()}", lines[:k] + [lines[k + 1], line] + lines[k + 2:]
        for i, other in enumerate(retargets(line, others)):
            yield f"{k + 1} retarget {i}: {other.strip()}", lines[:k] + [other] + lines[k + 1:]


def run(arguments, text):
    try:
        return subprocess.run(arguments, input=text, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, -1, "", "timed out")


def judge(hirc, text, seeds):
    """Returns killed, invalid, right, or the error."""
    checked = run([hirc, "check", "-", "--passes=", "--strict"], text)
    if checked.returncode == 1:
        return "killed" if re.search(r"error: (race|lifetime|mismatch|wait|deadlock): ", checked.stderr) else "invalid"
    if checked.returncode:
        return f"check exits with {checked.returncode}: {checked.stderr[-300:]}"
    for seed in range(1, seeds + 1):
        ran = run([hirc, "run", "-", "--passes=", "--check", "--no-check", f"--adversary={seed}", "--timeout=10"], text)
        if ran.returncode in (1, 2):
            return "invalid"
        if ran.returncode:
            return f"accepted, but exits with {ran.returncode} under seed {seed}: {(ran.stdout + ran.stderr)[-600:]}"
    return "right"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hirc", required=True)
    p.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth mutant")
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--show")
    o = p.parse_args()
    mutated = []
    for path, options in CASES:
        dump = run([o.hirc, "compile", str(path), "--dump=hir", *options], "")
        name = " ".join([path.stem, *options])
        mutated += [(f"{name} {what}", "\n".join(text) + "\n") for what, text in mutants(dump.stdout.splitlines())]
    if o.show:
        for what, text in mutated:
            if what.startswith(o.show):
                print(f"# {what}\n{text}")
        return 0
    mutated = mutated[::o.every]
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        verdicts = list(pool.map(lambda t: judge(o.hirc, t[1], o.seeds), mutated))
    known = ("killed", "right", "invalid")
    counts = collections.Counter(v if v in known else "wrong" for v in verdicts)
    for (what, _), verdict in zip(mutated, verdicts):
        if verdict not in known:
            print(f"wrong: {what}: {verdict}")
    valid = len(mutated) - counts["invalid"]
    print(f"{valid} mutants: {counts['killed']} killed, {counts['right']} right, {counts['wrong']} wrong; "
          f"{counts['invalid']} are no programs")
    return counts["wrong"] != 0


if __name__ == "__main__":
    sys.exit(main())
