#!/usr/bin/env python3
"""with_venv.py FOLDER SCRIPT [argument ...]: runs a script by a Python that has NumPy and ml_dtypes.

It uses a virtual environment in FOLDER, made at the first call with packages from PyPI. Without a network, or without
the module venv, it uses this Python or the system's, if it has NumPy; otherwise the exit code is 77 and the last line
has the reason.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

NEEDED = "import numpy, ml_dtypes"


def has(python, what):
    return subprocess.run([python, "-c", what], capture_output=True, check=False).returncode == 0


def make(folder):
    """Returns the environment's Python, or a line with the reason why there is none. One process at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if python.exists() and has(python, NEEDED):
            return python, None
        shutil.rmtree(folder, ignore_errors=True)
        for command in ([sys.executable, "-m", "venv", "--system-site-packages", folder],
                        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1",
                         "--timeout=10", "--only-binary=:all:", "numpy", "ml_dtypes"]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                lines = done.stdout.strip().splitlines() or ["no message"]
                return None, f"{' '.join(map(str, command[1:4]))}: {lines[-1]}"
    return python, None


def main():
    folder, *script = sys.argv[1:]
    python, why = make(pathlib.Path(folder).resolve())
    for other in (sys.executable, "/usr/bin/python3"):
        if not python and has(other, "import numpy"):
            print(f"numbers: note: {why}; taking {other}", flush=True)
            python = other
    if not python:
        print(f"numbers: skipped: no Python here has NumPy, and none could be made: {why}")
        return 77
    os.execv(python, [str(python), *script])


sys.exit(main())
