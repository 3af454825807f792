"""torch_times.py WHAT SIZE...: the time of PyTorch, median in us, measured as hirc measures its programs.

    matmul N TIMES           torch.matmul of two N×N matrices of bf16
    linear T H S TIMES       the T×4H by H×4H linear layer of bf16 in S chunks of rows
    eager STEPS N TIMES      the host's time to issue STEPS additions of N floats
    graph STEPS N TIMES      the same as a torch.cuda.CUDAGraph: the time to issue a replay
    layernorm|rmsnorm|softmax|residual ROWS N STEPS TIMES
                             a function of rows of bf16, STEPS times; residual: a layernorm of a sum
    attention|attention_backward B S A E TIMES
                             causal attention of bf16 by FlashAttention, forward, or forward and backward
    layer|compiled|memory B S A E TIMES
                             a transformer layer, as layer.hir; by torch.compile; or the most bytes it allocates
    decode LAYERS B A E C TIMES
                             a token of each sequence through all layers, as decode.hir, replayed as a torch.cuda.CUDAGraph
    overlap CASE RANKS STEPS SIZE... TIMES
                             products and copies of a case of overlap.py, for RANKS ranks with a stream for products
                             and one for copies each: the faster of in STEPS steps and one after the other

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


def recorded(one):
    """Returns a torch.cuda.CUDAGraph of a call."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        one()
    torch.cuda.current_stream().wait_stream(side)
    calls = torch.cuda.CUDAGraph()
    with torch.cuda.graph(calls):
        one()
    return calls


def graph(steps, n, times):
    return median(times, recorded(additions(steps, n)).replay, issue=True)


def rows_of(what):
    def measure(rows, n, steps, times):
        x, r, g, b = drawn(rows, n), drawn(rows, n), drawn(n), drawn(n)
        functions = torch.nn.functional
        one = {"layernorm": lambda: functions.layer_norm(x, (n,), g, b),
               "rmsnorm": lambda: functions.rms_norm(x, (n,), g),
               "softmax": lambda: torch.softmax(x, -1),
               "residual": lambda: functions.layer_norm(x + r, (n,), g, b)}[what]

        def several():
            for _ in range(steps):
                one()
        return median(times, several)
    return measure


def attention_of(what):
    def measure(b, s, a, e, times):
        backward = what == "attention_backward"
        q, k, v = (drawn(b, a, s, e).requires_grad_(backward) for _ in range(3))
        g = drawn(b, a, s, e)

        def one():
            o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return torch.autograd.grad(o, (q, k, v), g) if backward else o
        flash = torch.nn.attention.SDPBackend.FLASH_ATTENTION
        with torch.set_grad_enabled(backward), torch.nn.attention.sdpa_kernel(flash):
            return median(times, one)
    return measure


def layer_of(what):
    def measure(b, s, a, e, times):
        f, h = torch.nn.functional, a * e
        x, wq, wk, wv, wo = drawn(b, s, h), *(drawn(h, h) / 16 for _ in range(4))
        w1, w2 = drawn(4 * h, h) / 16, drawn(h, 4 * h) / 16

        def heads(n, w):
            return f.linear(n, w).view(b, s, a, e).transpose(1, 2)

        def one():
            n = f.layer_norm(x, (h,))
            o = f.scaled_dot_product_attention(heads(n, wq), heads(n, wk), heads(n, wv), is_causal=True)
            r = x + f.linear(o.transpose(1, 2).reshape(b, s, h), wo)
            return r + f.linear(f.gelu(f.linear(f.layer_norm(r, (h,)), w1)), w2)
        us = median(times, torch.compile(one) if what == "compiled" else one)
        return torch.cuda.max_memory_allocated() if what == "memory" else us
    return measure


def decode(layers, b, a, e, c, times):
    f, h = torch.nn.functional, a * e
    x, keys, values = drawn(b, 1, h), drawn(layers, b, a, c, e), drawn(layers, b, a, c, e)
    wq, wk, wv, wo = (drawn(layers, h, h) / 16 for _ in range(4))
    w1, w2 = drawn(layers, 4 * h, h) / 16, drawn(layers, h, 4 * h) / 16

    def one():
        y = x
        for i in range(layers):
            n = f.layer_norm(y, (h,))
            keys[i, :, :, c - 1] = f.linear(n, wk[i]).view(b, a, e)
            values[i, :, :, c - 1] = f.linear(n, wv[i]).view(b, a, e)
            q = f.linear(n, wq[i]).view(b, 1, a, e).transpose(1, 2)
            o = f.scaled_dot_product_attention(q, keys[i], values[i])
            r = y + f.linear(o.transpose(1, 2).reshape(b, 1, h), wo[i])
            y = r + f.linear(f.gelu(f.linear(f.layer_norm(r, (h,)), w1[i])), w2[i])
    return median(times, recorded(one).replay)


# ---- products and copies of ranks that share the GPU: all products, then all copies, or both in steps


def empty(*sizes):
    return torch.empty(*sizes, device="cuda", dtype=torch.bfloat16)


def meet(streams):
    """Makes all streams wait for each other."""
    for stream in streams:
        for other in streams:
            if stream is not other:
                stream.wait_stream(other)


def ag_matmul(ranks, _, m, k, n):
    """Rank r gathers the rows of all ranks, and multiplies them by its columns."""
    x, w = [drawn(m // ranks, k) for _ in range(ranks)], [drawn(k, n // ranks) for _ in range(ranks)]
    g = [empty(m, k) for _ in range(ranks)]
    y = [empty(m, n // ranks) for _ in range(ranks)]

    def serial(compute, _):
        for r in range(ranks):
            with torch.cuda.stream(compute[r]):
                for to, rows in zip(g[r].chunk(ranks), x):
                    to.copy_(rows)
                torch.matmul(g[r], w[r], out=y[r])

    def steps(compute, copies):
        for i in range(ranks):
            for r in range(ranks):
                of = (r + i) % ranks
                rows, to = x[of], y[r].chunk(ranks)[of]
                if i:
                    rows = g[r].chunk(ranks)[of]
                    with torch.cuda.stream(copies[r]):
                        rows.copy_(x[of])
                    compute[r].wait_stream(copies[r])
                with torch.cuda.stream(compute[r]):
                    torch.matmul(rows, w[r], out=to)
    return serial, steps


def matmul_rs(ranks, _, m, k, n):
    """Rank r has a part of the contraction, and gets the sum of all parts of its rows."""
    x, w = [drawn(m, k // ranks) for _ in range(ranks)], [drawn(k // ranks, n) for _ in range(ranks)]
    p = [empty(m, n) for _ in range(ranks)]
    y = [empty(m // ranks, n) for _ in range(ranks)]

    def add(r, of, first):
        part = p[of].chunk(ranks)[r]
        if first:
            y[r].copy_(part)
        else:
            y[r].add_(part)

    def serial(compute, _):
        for r in range(ranks):
            with torch.cuda.stream(compute[r]):
                torch.matmul(x[r], w[r], out=p[r])
        meet(compute)
        for r in range(ranks):
            with torch.cuda.stream(compute[r]):
                for of in range(ranks):
                    add(r, of, of == 0)

    def steps(compute, copies):
        for i in range(ranks):  # in step i, rank r makes its part of the rows of rank r - i
            for r in range(ranks):
                to = (r - i) % ranks
                with torch.cuda.stream(compute[r]):
                    torch.matmul(x[r].chunk(ranks)[to], w[r], out=p[r].chunk(ranks)[to])
                copies[to].wait_stream(compute[r])
                with torch.cuda.stream(copies[to]):
                    add(to, r, i == 0)
    return serial, steps


def row_parallel_linear(ranks, s, t, h):
    """Rank r has a part of the contraction; all ranks get the sum of all parts."""
    x, w = [drawn(t, 4 * h // ranks) for _ in range(ranks)], [drawn(h, 4 * h // ranks) for _ in range(ranks)]
    p, y = [empty(t, h) for _ in range(ranks)], [empty(t, h) for _ in range(ranks)]

    def multiply(streams, rows):
        for r in range(ranks):
            with torch.cuda.stream(streams[r]):
                torch.matmul(x[r][rows], w[r].t(), out=p[r][rows])

    def reduce(streams, rows):
        """Rank r adds up block r of the rows, and gives it to the others."""
        size = (rows.stop - rows.start) // ranks
        for r in range(ranks):
            block = slice(rows.start + r * size, rows.start + (r + 1) * size)
            with torch.cuda.stream(streams[r]):
                torch.add(p[0][block], p[1][block], out=y[r][block])
                for other in range(2, ranks):
                    y[r][block].add_(p[other][block])
                for other in range(ranks):
                    if other != r:
                        y[other][block].copy_(y[r][block])

    def serial(compute, _):
        multiply(compute, slice(0, t))
        meet(compute)
        reduce(compute, slice(0, t))

    def steps(compute, copies):
        for k in range(s):
            rows = slice(k * t // s, (k + 1) * t // s)
            multiply(compute, rows)
            for stream in copies:
                for other in compute:
                    stream.wait_stream(other)
            reduce(copies, rows)
    return serial, steps


def overlap(case, ranks, steps, *rest):
    *sizes, times = rest
    compute, copies = ([torch.cuda.Stream() for _ in range(ranks)] for _ in range(2))
    make = {"ag_matmul": ag_matmul, "matmul_rs": matmul_rs, "row_parallel_linear": row_parallel_linear}[case]
    return min(median(times, lambda way=way: way(compute, copies)) for way in make(ranks, steps, *sizes))


with torch.no_grad():
    known = {"matmul": matmul, "linear": linear, "eager": eager, "graph": graph, "decode": decode, "overlap": overlap,
             **{name: rows_of(name) for name in ("layernorm", "rmsnorm", "softmax", "residual")},
             **{name: attention_of(name) for name in ("attention", "attention_backward")},
             **{name: layer_of(name) for name in ("layer", "compiled", "memory")}}
    given = [int(word) if word.isdigit() else word for word in sys.argv[2:]]
    print(f"{known[sys.argv[1]](*given):.3f}")
