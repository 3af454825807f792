"""Programs of several ranks on one GPU, for measuring overlap: each as a whole, in steps, and its two halves alone.

A case has programs by name: `serial` moves, then computes; `pipeline` does both at once, in steps; `compute` and
`copies` are the halves of it. The ranks are threads and share the GPU, where products and copies both use the
multiprocessors: little can be won by doing them at once.
"""
import re

HEAD = """{params}const np = {ranks}
const s = {steps}
mesh ring(x = np)
program {name} on ring {{
{body}}}
"""
GATHERED = """  input X: bf16[m@x, k]
  input W: bf16[k, n@x]
"""
SUMMED = """  input X: bf16[m, k@x]
  input W: bf16[k@x, n]
"""
LINEAR = """  input X: bf16[t{0}, 4*h@x]
  input W: bf16[h, 4*h@x]
"""
# Of each case: its params, and the statements of each of its programs.
CASES = {
    "ag_matmul": (("m", "k", "n"), {
        "serial": GATHERED + "  G: bf16[m, k] = set(X)\n  output Y: bf16[m, n@x] = matmul(G, W)\n",
        "pipeline": GATHERED + "  G: bf16[m@stream(s), k] = set(X)\n  output Y: bf16[m@stream(s), n@x] = matmul(G, W)\n",
        "compute": "  input G: bf16[m, k]\n  input W: bf16[k, n@x]\n  output Y: bf16[m, n@x] = matmul(G, W)\n",
        "copies": "  input X: bf16[m@x, k]\n  output G: bf16[m, k] = set(X)\n",
    }),
    "matmul_rs": (("m", "k", "n"), {
        "serial": SUMMED + "  P: bf16[m, n] partial(x) = matmul(X, W)\n  output Y: bf16[m@x, n] = set(P)\n",
        "pipeline": SUMMED + "  P: bf16[m@stream(s), n] partial(x) = matmul(X, W)\n  output Y: bf16[m@x, n] = set(P)\n",
        "compute": SUMMED + "  output P: bf16[m, n] partial(x) = matmul(X, W)\n",
        "copies": "  input P: bf16[m, n] partial(x)\n  output Y: bf16[m@x, n] = set(P)\n",
    }),
    "row_parallel_linear": (("t", "h"), {
        "serial": LINEAR.format("") + "  output Y: bf16[t, h] = linear(X, W)\n",
        "pipeline": LINEAR.format("@stream(s)") + "  output Y: bf16[t@stream(s), h] = linear(X, W)\n",
        "compute": LINEAR.format("") + "  output Y: bf16[t, h] partial(x) = linear(X, W)\n",
        "copies": "  input P: bf16[t, h] partial(x)\n  output Y: bf16[t, h] = set(P)\n",
    }),
}
# How each pipeline is made: numbers of steps and options, of which the fastest counts. A ring has as many steps as ranks.
RINGS = ((None, ("--pipeline=p2p",)), (None, ()))
PIPELINES = {"ag_matmul": RINGS, "matmul_rs": RINGS, "row_parallel_linear": ((2, ()), (4, ()), (8, ()))}


def operations(case, sizes):
    """Returns the number of operations of a case's products."""
    if case == "row_parallel_linear":
        return 2 * sizes["t"] * sizes["h"] * 4 * sizes["h"]
    return 2 * sizes["m"] * sizes["k"] * sizes["n"]


def text_of(case, kind, ranks, sizes, steps):
    """Returns the program, as a separate file."""
    params, programs = CASES[case]
    body = programs[kind]
    used = [p for p in params if re.search(rf"\b{p}\b", body)]
    return HEAD.format(params="".join(f"param {p} = {sizes[p]}\n" for p in used), ranks=ranks, steps=steps,
                       name=f"{case}_{kind}", body=body)


def write_all(folder, ranks, sizes):
    """Returns by (case, kind, way) the file of the program and its options. The way of a pipeline is its steps and options,
    of all else None."""
    out = {}
    folder.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        for kind in CASES[case][1]:
            for s, options in PIPELINES[case] if kind == "pipeline" else ((None, ()),):
                file = folder / (f"{case}_{kind}" + (f"_{s}" if s else "") + ".hir")
                file.write_text(text_of(case, kind, ranks, sizes, s or ranks), encoding="utf-8")
                out[case, kind, (s or ranks, options) if kind == "pipeline" else None] = (file, options)
    return out


def sizes_that_fit(memory, ranks, small):
    """Returns m, k, n of the products, t and h of the linear layer: the full sizes, halved until all ranks of a GPU
    with this many bytes have room for their inputs, a gathered operand or a sum of their own, and the same again for
    received data."""
    if small:
        return {"m": 64, "k": 32, "n": 64, "t": 64, "h": 16}
    m, k, n, t, h = 32768, 16384, 8192, 8192, 8192
    while m > 1024 and ranks * 2 * 2 * (m * k + m * n + k * n) > 0.7 * memory:
        m, k, n = m // 2, k // 2, n // 2
    while t > 1024 and ranks * 2 * 2 * (t * h * 4 // ranks + h * h * 4 // ranks + 2 * t * h) > 0.7 * memory:
        t, h = t // 2, h // 2
    return {"m": m, "k": k, "n": n, "t": t, "h": h}
