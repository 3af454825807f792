#!/usr/bin/env python3
"""random_messages.py HIRC [COUNT [SEED]]: messages between blocks of all kinds, in rings of random programs.

A check of ranks that stand for others gives the result of a check of all ranks. `hirc check` refuses exactly the
programs that `hirc run --check` refuses, which compares the elements that both ends name.
"""
import concurrent.futures
import random
import subprocess
import sys

HIRC = sys.argv[1]
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 100
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1


def draw(seed):
    r = random.Random(seed)
    n = r.choice([2, 3, 4, 6])
    mesh = f"x = {n}, y = 2" if r.random() < 0.3 else f"x = {n}"
    t = n * r.choice([2, 4]) + (r.random() < 0.2)  # uneven blocks, now and then
    block = -(-t // n)
    own, far = "axis_index(x)", r.randrange(n)

    def index():
        return r.choice([f"({own} + {r.randrange(n)}) % {n}", f"({own} + s) % {n}", f"({own} + {n} - s) % {n}", "s",
                         f"({own} + {r.randrange(n)} + s) % {n}"])
    to, source = r.choice([(f"({own} + {n} - s) % {n}", f"({own} + s) % {n}"),
                           (f"({own} + {far}) % {n}", f"({own} + {n - far}) % {n}")])
    # The part that is sent or received, after the statement that makes it.
    sent, makes_sent = r.choice([("X", ""), ("X", ""), ("L", ""), ("z", f"z = shard_by_stream(Z, {index()})")])
    received, makes_received = r.choice([("A", ""), ("B", ""), ("b", f"b = shard_by_stream(R, {index()})"),
                                         ("b", f"b = shard_by_stream(S, {index()})")])
    return f"""mesh m({mesh})
program p on m {{
  input X: f32[{t}@x]
  input Z: f32[{t}@stream({n})]
  A: f32[{t}@x] = allocate()
  B: f32[{block}] = allocate()
  L: f32[{block}] = allocate(zero_init=true)
  R: f32[{t}@swizzle1d(x)] = allocate()
  S: f32[{t}@stream({n})] = allocate()
  for s in 0..{n} {{
    {makes_received}
    {makes_sent}
    recv({received}, peer=device(x, {source})) as r
    send({sent}, peer=device(x, {to})) as w
    wait(r)
    wait(w)
  }}
  output Y: f32[{t}@x] = neg(X)
}}
"""


def hirc(text, *words):
    return subprocess.run([HIRC, *words], input=text, capture_output=True, text=True, timeout=60, check=False)


def compare(seed):
    """Returns true if the program is accepted; None after printing a disagreement."""
    text = draw(seed)
    few = hirc(text, "check", "-", "--passes=")
    each = hirc(text, "check", "-", "--passes=", "--each-rank")
    run = hirc(text, "run", "-", "--passes=", "--check", "--no-check", "--bootstrap=thread")
    accepted = few.returncode == 0
    if (few.returncode, few.stderr) == (each.returncode, each.stderr) and accepted == (run.returncode == 0):
        return accepted
    print(f"program {seed}: check {few.returncode}, --each-rank {each.returncode}, run --check {run.returncode}")
    print(text + few.stderr + each.stderr + run.stdout + run.stderr)
    return None


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    found = list(pool.map(compare, [SEED * 1000003 + k for k in range(COUNT)]))
print(f"{COUNT - found.count(None)} of {COUNT} alike, {found.count(True)} accepted")
sys.exit(None in found or not 0 < found.count(True) < COUNT)
