"""torch_times.py WHAT SIZE...: the time of PyTorch, median in us, measured as hirc measures its programs.

    matmul N TIMES           torch.matmul of two N×N matrices of bf16
    linear T H S TIMES       the T×4H by H×4H linear layer of bf16 in S chunks of rows
    eager STEPS N TIMES      the host's time to issue STEPS additions of N floats
    graph STEPS N TIMES      the same as a torch.cuda.CUDAGraph: the time to issue a replay

Exits with 77 and a line with the reason if there is no torch, or no GPU that it can use.
"""
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("no torch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch sees no GPU")
    sys.exit(77)


def drawn(*sizes):
    """Returns data like that of inputs of programs: multiples of 1/8 from -1 to 1."""
    return (torch.randint(-8, 9, sizes, device="cuda", dtype=torch.int32) / 8).to(torch.bfloat16)


def median(times, one, issue=False):
    """Returns the median time of a call, until the host knows that it is done, or until it has issued it."""
    took = []
    for k in range(-3, times):
        torch.cuda.synchronize()
        start = time.perf_counter()
        one()
        issued = time.perf_counter()
        torch.cuda.synchronize()
        if k >= 0:
            took.append((issued if issue else time.perf_counter()) - start)
    return statistics.median_low(took) * 1e6


def matmul(n, times):
    a, b, c = drawn(n, n), drawn(n, n), torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    return median(times, lambda: torch.matmul(a, b, out=c))


def linear(t, h, s, times):
    x, w = drawn(t, 4 * h), drawn(h, 4 * h)
    y = torch.empty(t, h, device="cuda", dtype=torch.bfloat16)
    chunks = list(zip(x.chunk(s), y.chunk(s)))

    def one():
        for rows, to in chunks:
            torch.matmul(rows, w.t(), out=to)
    return median(times, one)


def additions(steps, n):
    x, y = torch.zeros(n, device="cuda"), torch.zeros(n, device="cuda")

    def one():
        for _ in range(steps):
            y.add_(x)
    return one


def eager(steps, n, times):
    return median(times, additions(steps, n), issue=True)


def graph(steps, n, times):
    one = additions(steps, n)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        one()
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        one()
    return median(times, recorded.replay, issue=True)


with torch.no_grad():
    what = {"matmul": matmul, "linear": linear, "eager": eager, "graph": graph}[sys.argv[1]]
    print(f"{what(*map(int, sys.argv[2:])):.3f}")
