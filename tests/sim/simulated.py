"""Runs `hirc sim`. Used by rules.py and turns.py."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CALLS = str(ROOT / "tests/sim/calls.json")
CONTENDED = str(ROOT / "tests/sim/contended.json")


def simulate(hirc, program, options, folder):
    """Returns figures and trace as text, None if the program was refused; and standard error."""
    figures, trace = folder / "figures", folder / "trace"
    done = subprocess.run([hirc, "sim", program, *options, f"--json={figures}", f"--trace={trace}", "--remarks"],
                          capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{program} {options}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return (figures.read_text(), trace.read_text()) if done.returncode == 0 else None, done.stderr
