#!/usr/bin/env python3
"""steady.py HIRC LIBRARY: a program that keeps running neither allocates nor makes system calls.

Runs programs with --repeat=10 and --repeat=1000 and compares how often they allocate (counted by LIBRARY, which is
count_malloc) and how often they make system calls except sched_yield, futex and sleeps (counted by strace, if it is
installed). Pools grow when one rank is later than before, which happens less than once in ten runs. A plan has the
same length for many iterations of a loop as for few.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

# munmap: start-up aligns its mappings, which takes one call more or less; an unmapped range was counted when mapped.
QUIET = "sched_yield,futex,nanosleep,clock_nanosleep,munmap"
FEW, MANY = 10, 1000
GROWTH = (MANY - FEW) // 10  # of pools

LONG_LOOP = """
param n = 8
mesh m(x = 2)
program p on m {
  input X: f32[8]
  A: f32[8] = allocate(zero_init=true)
  B: f32[8] = allocate()
  for i in 0..n {
    B <- relu(A)
    send(B, peer=1-rank) as sent
    recv(A, peer=1-rank) as received
    wait(sent)
    wait(received)
  }
}
"""

# oneDNN keeps lists of a few hundred bytes during a call: here only larger allocations are counted.
LARGE = {"large gemm": 4096}

# name: ranks, options, program
PROGRAMS = {
    "loop": (1, [],
"""
mesh m(x = 1)
program p on m {
  input X: f32[64, 8]
  A: f32[8] = allocate()
  B: f32[8] = allocate()
  for i in 0..64 {
    R = select(X, axis=0, index=i)
    A <- relu(R)
    B <- add(A, B)
  }
}
"""),
    "streams": (1, ["--streams=2"],
"""
mesh m(x = 1)
program p on m {
  input X: f32[4, 8]
  A: f32[4, 8] = allocate()
  main = get_current_stream()
  for i in 0..4 parallel(stream) {
    set_stream(i)
    synchronize(main)
    R = select(X, axis=0, index=i)
    B = select(A, axis=0, index=i)
    B <- relu(R)
  }
  set_stream(main)
  for i in 0..4 {
    synchronize(i)
  }
}
"""),
    "fused": (1, [],
"""
mesh m(x = 1)
program p on m {
  input X: f32[4@stream(4), 8]
  output Y: f32[4@stream(4), 8] = relu(add(exp(X), X))
}
"""),
    "gemm": (1, [],
"""
mesh m(x = 1)
program p on m {
  input X: f32[8, 8]
  input W: f32[8, 8]
  output Y = softmax(matmul(X, W), axis=1)
}
"""),
    "large gemm": (1, [],
"""
mesh m(x = 1)
program p on m {
  input X: f32[256, 256]
  input W: f32[256, 256]
  input B: bf16[256, 256]
  output Y = matmul(X, W)
  output Z = linear(X, W)
  output V = matmul(B, B)
}
"""),
    "collectives": (2, [],
"""
mesh m(x = 2)
program p on m {
  input X: f32[4@x, 8]
  output Y: f32[4, 8] = X
  output Z = sum(Y, axis=0)
}
"""),
    "sums": (2, [],
"""
mesh m(x = 2)
program p on m {
  input A: bf16[64, 6000@x]
  output Y: bf16[64] = sum(A, axis=1)
}
"""),
    "exchange": (2, [],
"""
mesh m(x = 2)
program p on m {
  input A: f32[64@x, 6000]
  output Y: f32[64, 6000@x] = A
}
"""),
    "ring": (2, ["--pipeline=p2p"],
"""
mesh m(x = 2)
program p on m {
  input A: f32[4@stream(2)@x, 8, 16]
  input W: f32[16, 4]
  output Y: f32[4@stream(2), 8, 4] = matmul(A, W)
}
"""),
    "lanes": (2, ["--engine=lanes"],
"""
mesh m(x = 2)
program p on m {
  input A: f32[7@stream(2), 8@x, 16]
  input W: f32[16, 4]
  output Y: f32[7@stream(2), 8, 4] = matmul(A, W)
}
"""),
    "in place": (2, ["--zero-copy"],
"""
mesh m(x = 2)
program p on m {
  input A: f32[1024@x, 16]
  input W: f32[16, 4]
  output Y: f32[1024, 4] = matmul(A, W)
}
"""),
}


def allocations(command, library, least, scratch):
    count = os.path.join(scratch, "count")
    open(count, "w").close()
    environment = dict(os.environ, LD_PRELOAD=library, COUNT_MALLOC=count, COUNT_MALLOC_LEAST=str(least),
                       OPENBLAS_NUM_THREADS="1")
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    with open(count, "rb") as file:
        return struct.unpack("=Q", file.read(8))[0]


def system_calls(command, scratch):
    out = os.path.join(scratch, "strace")
    trace = ["strace", "-f", "-c", "-qq", "-e", "trace=!" + QUIET, "-e", "signal=none", "-o", out]
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    subprocess.run(trace + command, env=environment, check=True, stdout=subprocess.DEVNULL)
    with open(out) as file:  # % time, seconds, usecs/call, calls, errors, syscall
        return next(int(line.split()[3]) for line in file if line.split()[-1:] == ["total"])


def plan_length(hirc, path, iterations):
    command = [hirc, "run", path, "--np=2", "--dump-plan", f"-Dn={iterations}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.count(b"\n")


def main():
    hirc, library = sys.argv[1:]
    failed = False
    traces = shutil.which("strace") and subprocess.run(
        ["strace", "-o", os.devnull, "true"], stderr=subprocess.DEVNULL).returncode == 0
    if not traces:
        print("note: no strace here: calls of the system are not counted")
    with tempfile.TemporaryDirectory() as scratch:
        for name, (ranks, options, text) in PROGRAMS.items():
            path = os.path.join(scratch, name + ".hir")
            with open(path, "w") as file:
                file.write(text)
            def command(times):
                return [hirc, "run", "--no-check", f"--np={ranks}", f"--repeat={times}", *options, path]
            measures = {"allocations": lambda c: allocations(c, library, LARGE.get(name, 0), scratch)}
            if traces:
                measures["system calls"] = lambda c: system_calls(c, scratch)
            for what, measure in measures.items():
                few, many = measure(command(FEW)), measure(command(MANY))
                print(f"{name}: {what}: {few} for {FEW} runs, {many} for {MANY}")
                failed |= few != many if ranks == 1 else abs(many - few) > GROWTH
        path = os.path.join(scratch, "long.hir")
        with open(path, "w") as file:
            file.write(LONG_LOOP)
        few, many = plan_length(hirc, path, FEW), plan_length(hirc, path, MANY)
        print(f"lines of the plan: {few} for {FEW} iterations, {many} for {MANY}")
        failed |= few != many
    sys.exit(failed)


main()
