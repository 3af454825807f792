#!/usr/bin/env python3
"""adversary_examples.py HIRC [--seeds N]: every example is right in every order that its waits allow.

Runs each example, on few ranks, with --check under `--adversary` with seeds 1 to N, and the pipelines of two of them.
One in three uses the bootstrap `thread`. If hirc has MPI, one example runs under mpirun.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMALL = {"ag_linear": ["-D", "m=4", "-D", "k=8", "-D", "n=6", "--np=2"], "zero_copy": ["-D", "t=777", "--np=3"]}
CASES = [(path, SMALL.get(path.stem, [])) for path in sorted(ROOT.glob("examples/*.hir"))]
CASES += [(ROOT / "examples" / f"{name}.hir", [f"--pipeline={kind}", "--np=3", "-D", "t=13"])
          for name in ("ag_matmul", "matmul_reduce_scatter")
          for kind in ("broadcast", "permute", "collective", "p2p", "p2p-put")]
CASES += [(ROOT / "examples" / "row_parallel_linear.hir", ["--zero-copy", "--np=2"])]


def wrong(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        print(f"failed: {' '.join(command)}: no end within 120 s")
        return 1
    if done.returncode == 0 and done.stdout.splitlines()[-1].startswith("ok: "):
        return 0
    print(f"failed: {' '.join(command)}: exit {done.returncode}")
    print("\n".join((done.stdout + done.stderr).splitlines()[-8:]))
    return 1


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("hirc")
    p.add_argument("--seeds", type=int, default=3)
    o = p.parse_args()
    version = subprocess.run([o.hirc, "--version"], capture_output=True, text=True, check=True).stdout
    mpi = " mpi" in version and shutil.which("mpirun")
    count = failed = 0
    for seed in range(1, o.seeds + 1):
        for k, (path, options) in enumerate(CASES):
            command = [o.hirc, "run", str(path), "--check", f"--adversary={seed}", "--timeout=60", *options]
            command += ["--bootstrap=thread"] * ((k + seed) % 3 == 0)
            count += 1
            failed += wrong(command)
        if mpi:
            count += 1
            failed += wrong(["mpirun", "-np", "2", o.hirc, "run", str(ROOT / "examples" / "ag_matmul.hir"), "--check",
                             f"--adversary={seed}"])
    print(f"{count - failed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
