#!/usr/bin/env python3
"""slow_reader.py HIRC: errors are printed completely, also to a slow reader.

Ranks that have nothing to print leave first; that ends the job, but not before rank 0 has written its lines. Here
rank 0 must wait 2 s to write them, since the pipe is full.
"""
import fcntl
import os
import subprocess
import sys
import tempfile
import time

PROGRAM = """
mesh m(x = 2)
program p on m {
  input X: f32[8@x]
  output Y: f32[8@x] = %s(X)
}
"""
LATE = 2


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in "relu", "neg":
            with open(os.path.join(scratch, name + ".hir"), "w") as file:
                file.write(PROGRAM % name)
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        full = os.write(writer, bytes(4096))
        run = subprocess.Popen([sys.argv[1], "run", "relu.hir", "--check=neg.hir"], cwd=scratch, stderr=writer)
        os.close(writer)
        time.sleep(LATE)
        with open(reader, "rb") as pipe:
            text = pipe.read()[full:].decode()
        code = run.wait(timeout=60)
    print(text, end="")
    assert code == 3, f"exit code {code}"
    assert text.endswith("elements of Y, on 2 of 2 ranks\n"), "the last line is missing"


main()
