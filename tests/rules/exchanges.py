"""Programs for rules.py: Communications, messages, packed memory and experts."""
from spaces import Drawn, NUMBERS, Space, operation, text

TEAMS = [(2,), (2,), (3,), (4,)]
HOWS = ["U * C", "U * 2.0", "neg(U)", "matmul(U, C)", "U + C", "C - U", "U + U", "abs(U)"]
BOTH = [(2,), (3,), (2, 2), (2, 3)]


def spread(r, dims="ab", dtypes=NUMBERS, sizes=TEAMS, even=True):
    """Returns a space whose first dim the mesh axis x places, and the dim of another mesh axis."""
    s = Space(r, dims, dtypes, loops=False, mesh=r.choice(sizes))
    s.places = {d: [] for d in dims}
    s.places[dims[0]] = ["x"]
    if len(s.sizes) == 2 and r.random() < 0.7:
        s.places[dims[-1]].append("y")
    if even:
        s.extent[dims[0]] = s.sizes[0] * r.choice((1, 2))
    return s


def program_of(s, source, program, limit=7):
    return Drawn(text("", source), text(s.mesh(), program), limit)


# ---- elements move


@operation("moves")
def allgather(r):
    s = spread(r, sizes=BOTH, even=False)
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = X + X"]
    program = ["input X: %s" % s.type("ab"), "input Z: %s" % s.type("ab"),
               "T: %s = allocate()" % s.type("ab", whole="a"),
               "output Y: %s = allocate()" % s.type("ab", whole="a"), "T <- allgather(X, axis=x) as c", "wait(c)",
               "Y <- T + T"]
    return program_of(s, source, program)


@operation("moves")
def allgather_place(r):
    """Blocks without the placed axis, one after the other."""
    s = spread(r, "abc")
    s.extent["a"] = s.sizes[0]
    source = ["input X: %s" % s.plain("abc"), "input Z: %s" % s.plain("abc"), "output Y = X + X"]
    program = ["input X: %s" % s.type("abc"), "input Z: %s" % s.type("abc"),
               "output Y: %s = allocate()" % s.type("abc", whole="a"), "a = select(X, axis=0, index=0)",
               "b: %s = a + a" % s.type("bc"), "Y <- allgather(b, axis=x) as c", "wait(c)"]
    return program_of(s, source, program)


@operation("moves")
def broadcast_from(r):
    s = spread(r, sizes=BOTH)
    n = s.sizes[0]
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = set(X)"]
    program = ["input X: %s" % s.type("ab"), "input Z: %s" % s.type("ab")]
    out = "%s@stream(%d)" % (s.extent["a"], n)
    program += ["output Y: %s = allocate()" % s.type([out, "b"]), "for i in 0..%d {" % n, "  y = shard_by_stream(Y, i)",
                "  y <- broadcast_from(X, axis=x, root=i) as c", "  wait(c)", "}"]
    return program_of(s, source, program)


@operation("moves")
def gather_to(r):
    """To the root, and from there to all."""
    s = spread(r)
    root = r.randrange(s.sizes[0])
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = set(X)"]
    program = ["input X: %s" % s.type("ab"), "input Z: %s" % s.type("ab"), "T: %s = allocate()" % s.plain("ab"),
               "output Y: %s = allocate()" % s.plain("ab"), "T <- gather_to(X, axis=x, root=%d) as c" % root, "wait(c)",
               "Y <- broadcast_from(T, axis=x, root=%d) as d" % root, "wait(d)"]
    return program_of(s, source, program)


@operation("moves")
def scatter_from(r):
    s = spread(r)
    root = r.randrange(s.sizes[0])
    source = ["input X: %s" % s.plain("ab"), "output Y = X + X"]
    program = ["input X: %s" % s.plain("ab"), "T: %s = allocate(zero_init=true)" % s.plain("ab"),
               "output Y: %s = allocate()" % s.type("ab"), "if axis_index(x) == %d {" % root, "  T <- X + X", "}",
               "Y <- scatter_from(T, axis=x, root=%d) as c" % root, "wait(c)"]
    return program_of(s, source, program)


@operation("moves")
def all_to_all(r):
    s = spread(r)
    s.extent["b"] = s.sizes[0] * r.choice((1, 2))
    start = s.type("ab")
    s.places = {"a": [], "b": ["x"]}
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = set(X)"]
    program = ["input X: %s" % start, "input Z: %s" % start, "output Y: %s = allocate()" % s.type("ab"),
               "Y <- all_to_all(X, axis=x) as c", "wait(c)"]
    return program_of(s, source, program)


@operation("moves")
def all_to_allv(r):
    """From any layout to any layout."""
    s = spread(r, sizes=BOTH, even=False)
    start = s.type("ab")
    for d in "ab":
        s.places[d] = []
    for axis in s.axes:
        s.places[r.choice("ab")].append(axis)
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = set(X)"]
    axis = "x" if len(s.axes) == 1 else "(x, y)"
    program = ["input X: %s" % start, "input Z: %s" % start, "output Y: %s = allocate()" % s.type("ab"),
               "Y <- all_to_allv(X, axis=%s) as c" % axis, "wait(c)"]
    return program_of(s, source, program)


def rotation(s, by):
    """Returns the source of a rotation of rows."""
    n = s.extent["a"]
    return ["input X: %s" % s.plain("ab"), "A = slice(X, axis=0, start=%d, stop=%d)" % (n - by, n),
            "B = slice(X, axis=0, start=0, stop=%d)" % (n - by), "output Y = cat(A, B, axis=0)"]


@operation("moves")
def collective_permute(r):
    s = spread(r)
    n = s.extent["a"] = s.sizes[0]
    by = r.randrange(1, n)
    program = ["input X: %s" % s.type("ab"), "output Y: %s = allocate()" % s.type("ab"),
               "a = select(X, axis=0, index=0)", "y = select(Y, axis=0, index=0)",
               "y <- collective_permute(a, axis=x, send_peer=(axis_index(x) + %d) %% %d, "
               "recv_peer=(axis_index(x) + %d) %% %d) as c" % (by, n, n - by, n), "wait(c)"]
    return program_of(s, rotation(s, by), program)


@operation("moves")
def send_recv(r):
    s = spread(r, sizes=[(2,)])
    root = r.randrange(2)
    source = ["input X: %s" % s.plain("b"), "input W: %s" % s.plain("b"), "output Y = X + W"]
    program = ["input X: %s" % s.plain("b"), "input W: %s" % s.plain("b"), "T: %s = allocate()" % s.plain("b"),
               "output Y: %s = allocate()" % s.plain("b"), "if axis_index(x) == %d {" % root, "  T <- X + W",
               "  Y <- set(T)", "}",
               "Y <- send_recv(T, axis=x, root=%d) as c" % root, "wait(c)"]
    return program_of(s, source, program)


@operation("moves")
def messages(r):
    """Each rank sends its row to one neighbour."""
    s = spread(r)
    n = s.extent["a"] = s.sizes[0]
    by = r.randrange(1, n)
    program = ["input X: %s" % s.type("ab"), "output Y: %s = allocate()" % s.type("ab"),
               "a = select(X, axis=0, index=0)", "y = select(Y, axis=0, index=0)",
               "send(a, peer=device(x, (axis_index(x) + %d) %% %d)) as s" % (by, n),
               "recv(y, peer=device(x, (axis_index(x) + %d) %% %d)) as t" % (n - by, n), "wait(s)", "wait(t)"]
    return program_of(s, rotation(s, by), program)


@operation("moves")
def messages_ring(r):
    """Each rank gets all blocks, one in each step."""
    s = spread(r)
    n = s.sizes[0]
    ring = "%d@swizzle1d(x)" % s.extent["a"]
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = set(X)"]
    program = ["input X: %s" % s.type("ab"), "input Z: %s" % s.type("ab"), "output Y: %s = allocate()" % s.plain("ab"),
               "T: %s = allocate()" % s.type([ring, "b"]), "for i in 0..%d {" % n, "  t = shard_by_stream(T, i)",
               "  recv(t, peer=device(x, (axis_index(x) + i) %% %d)) as t1" % n,
               "  send(X, peer=device(x, (axis_index(x) + %d - i) %% %d)) as t2" % (n, n), "  wait(t1)", "  wait(t2)",
               "}",
               "Y <- set(T)"]
    return program_of(s, source, program)


@operation("moves")
def messages_place(r):
    """Between tensors of other extents elements keep their place in memory, in whatever order it is."""
    s = spread(r, "abc")
    n = s.extent["a"] = s.sizes[0]
    by = r.randrange(1, n)
    source = ["input X: %s" % s.plain("abc"), "input Z: %s" % s.plain("abc"),
              "A = slice(X, axis=0, start=%d, stop=%d)" % (n - by, n),
              "B = slice(X, axis=0, start=0, stop=%d)" % (n - by),
              "output Y = cat(A, B, axis=0)"]
    program = ["input X: %s" % s.type("abc"), "input Z: %s" % s.type("abc"),
               "output Y: %s = allocate()" % s.type("abc"),
               "T: %s = allocate()" % s.type(["1", "b", "c"])]
    others = []
    if r.random() < 0.5:
        others = [text("", source)]
        program.append("schedule T { allocation (%s) }" % ", ".join(map(str, r.sample(range(3), 3))))
    program += ["a = select(X, axis=0, index=0)", "y = select(Y, axis=0, index=0)", "t = select(T, axis=0, index=0)",
                "send(a, peer=device(x, (axis_index(x) + %d) %% %d)) as s" % (by, n),
                "recv(T, peer=device(x, (axis_index(x) + %d) %% %d)) as t1" % (n - by, n), "wait(s)", "wait(t1)",
                "y <- set(t)"]
    if others:
        mesh = s.mesh()
        return Drawn(text(mesh, program), text(mesh, program), others=others)
    return program_of(s, source, program)


# ---- elements are added up


def reduce_kinds(r, floats=True):
    return r.choice(["sum", "sum", "max", "min", "prod"] + ["avg"] * floats)


def pending_of(kind):
    return " partial(x)" if kind == "sum" else " partial %s(x)" % kind


def pending_input(s, kind):
    """Returns the type of an input with a pending reduction."""
    s.places["a"] = []
    return s.type("ab") + pending_of(kind)


@operation("adds")
def allreduce(r):
    s = spread(r, sizes=BOTH)
    kind = reduce_kinds(r, s.dtype[0] in "fb")
    typed = pending_input(s, kind)
    source = ["input X: %s" % typed, "input Z: %s" % typed, "output Y: %s = set(X)" % s.plain("ab")]
    program = ["input X: %s" % typed, "input Z: %s" % typed, "output Y: %s = allocate()" % s.type("ab"),
               "Y <- allreduce(X, axis=x) as c", "wait(c)"]
    mesh = s.mesh()
    return Drawn(text(mesh, source), text(mesh, program))


@operation("adds")
def allreduce_op(r):
    """The ranks have tensors of their own, and the statement names the reduction."""
    s = spread(r, dtypes=["f64"], sizes=TEAMS[:2])
    kind = reduce_kinds(r)
    s.places["a"] = []
    how = {"sum": "A + B", "max": "maximum(A, B)", "min": "minimum(A, B)", "prod": "A * B"}
    source = ["input A: %s" % s.plain("ab"), "input B: %s" % s.plain("ab")]
    source += ["output Y = " + how[kind]] if kind in how else ["S = A + B", "output Y = S * 0.5"]
    program = ["input A: %s" % s.plain("ab"), "input B: %s" % s.plain("ab"), "T: %s = allocate()" % s.plain("ab"),
               "output Y: %s = allocate()" % s.plain("ab"), "if axis_index(x) == 0 {", "  T <- set(A)", "} else {",
               "  T <- set(B)", "}", "Y <- allreduce(T, axis=x, op=%s) as c" % kind, "wait(c)"]
    return program_of(s, source, program)


@operation("adds")
def extremes(r):
    """Operations on the largest or smallest of several tensors, which the ranks have."""
    s = spread(r, dtypes=["f64"], sizes=TEAMS[:2])
    kind = r.choice(["max", "min", "prod"])
    s.places["a"] = []
    s.extent["b"] = s.extent["a"]
    how = r.choice(HOWS)
    word = {"max": "maximum", "min": "minimum", "prod": "mul"}[kind]
    operands = ["input %s: %s" % (x, s.plain("ab")) for x in "ABC"]
    lines = ["T: %s = allocate()" % s.plain("ab"), "U: %s = allocate()" % s.plain("ab"), "if axis_index(x) == 0 {",
             "  T <- set(A)", "} else {", "  T <- set(B)", "}", "U <- allreduce(T, axis=x, op=%s) as c" % kind,
             "wait(c)"]
    program = operands + ["output Y: %s = allocate()" % s.plain("ab")] + lines
    mesh = s.mesh()
    other = r.choice(HOWS)
    each = "output Y = " + r.choice(["P + Q", "%s(P, Q)" % word])
    others = [text(mesh, program + ["Y <- " + other]),
              text("", operands + ["U = %s(A, B)" % word, "output Y = " + other]),
              text("", operands + ["P = " + how.replace("U", "A"), "Q = " + how.replace("U", "B"), each])]
    if r.random() < 0.5:
        source = text(mesh, program + ["Y <- " + how])
    else:
        source = text("", operands + ["U = %s(A, B)" % word, "output Y = " + how])
    return Drawn(source, text(mesh, program + ["Y <- " + how]), others=others)


@operation("adds")
def allreduce_same(r):
    """All ranks have the same complete tensor: maxima and averages of it are the tensor."""
    s = spread(r, dtypes=["f64"])
    kind = r.choice(["max", "min", "avg"])
    s.places["a"] = []
    how = r.choice(["A + B", "A - B", "A * B", "A * 2.0", "neg(A)", "A + 1.0"])
    source = ["input A: %s" % s.plain("ab"), "input B: %s" % s.plain("ab"), "output Y = " + how]
    program = ["input A: %s" % s.plain("ab"), "input B: %s" % s.plain("ab"), "T: %s = allocate()" % s.plain("ab"),
               "output Y: %s = allocate()" % s.plain("ab"), "T <- " + how,
               "Y <- allreduce(T, axis=x, op=%s) as c" % kind, "wait(c)"]
    return program_of(s, source, program)


@operation("adds")
def allreduce_number(r):
    """Numbers are added up, too."""
    s = spread(r, dtypes=["f64"])
    kind = reduce_kinds(r)
    s.places["a"] = []
    n, x = s.sizes[0], r.choice((2, 3))
    total = {"sum": n * x, "prod": x ** n}.get(kind, x)
    source = ["input A: %s" % s.plain("ab"), "output Y = A + %d.0" % total]
    program = ["input A: %s" % s.plain("ab"), "T: %s = allocate()" % s.plain("ab"),
               "U: %s = allocate()" % s.plain("ab"),
               "output Y: %s = allocate()" % s.plain("ab"), "T <- full(%d.0)" % x,
               "U <- allreduce(T, axis=x, op=%s) as c" % kind, "wait(c)", "Y <- A + U"]
    return program_of(s, source, program)


@operation("adds")
def reduce(r):
    s = spread(r)
    root, kind = r.randrange(s.sizes[0]), reduce_kinds(r, s.dtype[0] in "fb")
    typed = pending_input(s, kind)
    source = ["input X: %s" % typed, "input Z: %s" % typed, "output Y: %s = set(X)" % s.plain("ab")]
    program = ["input X: %s" % typed, "input Z: %s" % typed, "T: %s = allocate()" % s.plain("ab"),
               "output Y: %s = allocate()" % s.plain("ab"), "T <- reduce(X, axis=x, root=%d) as c" % root, "wait(c)",
               "Y <- broadcast_from(T, axis=x, root=%d) as d" % root, "wait(d)"]
    mesh = s.mesh()
    return Drawn(text(mesh, source), text(mesh, program))


@operation("adds")
def reduce_scatter(r):
    if r.random() < 0.5:  # of a product
        s = spread(r, "akb", dtypes=["f64", "f32"])
        inputs = {"A": "ak", "B": "kb", "Z": "kb"}
        source = ["input %s: %s" % (x, s.plain(d)) for x, d in inputs.items()] + ["output Y = matmul(A, B)"]
        s.places["k"] = ["x"]
        program = ["input %s: %s" % (x, s.type(d, whole="a")) for x, d in inputs.items()]
        program += ["P: %s = allocate()" % s.type("ab", whole="a", partial="k"),
                    "output Y: %s = allocate()" % s.type("ab"),
                    "P <- matmul(A, B)", "Y <- reduce_scatter(P, axis=x) as c", "wait(c)"]
        return program_of(s, source, program)
    s = spread(r)
    kind = reduce_kinds(r, s.dtype[0] in "fb")
    typed = pending_input(s, kind)
    source = ["input X: %s" % typed, "input Z: %s" % typed, "output Y: %s = set(X)" % s.plain("ab")]
    s.places["a"] = ["x"]
    program = ["input X: %s" % typed, "input Z: %s" % typed, "output Y: %s = allocate()" % s.type("ab"),
               "Y <- reduce_scatter(X, axis=x) as c", "wait(c)"]
    mesh = s.mesh()
    return Drawn(text(mesh, source), text(mesh, program))


@operation("adds")
def reduce_scatter_place(r):
    """Each rank has a row of its own, and gets a block of the sum."""
    s = spread(r, "ac", dtypes=["f64"])
    n = s.extent["a"] = s.sizes[0]
    c = s.extent["c"]
    row = str(n * c)
    inputs = ["input A: %s" % s.plain(["a", row]), "input B: %s" % s.plain(["a", row])]
    added = ["A%d = select(A, axis=0, index=%d)" % (i, i) for i in range(n)]
    added += ["T = %s" % " + ".join("A%d" % i for i in range(n))]
    source = []
    for i in range(n):
        source += ["S%d = slice(T, axis=0, start=%d, stop=%d)" % (i, i * c, i * c + c),
                   "R%d = broadcast(S%d, [1, %d])" % (i, i, c)]
    source += ["output Y = cat(%s, axis=0)" % ", ".join("R%d" % i for i in range(n))]
    program = ["input A: %s" % s.type(["a", row]), "input B: %s" % s.type(["a", row]),
               "output Y: %s = allocate()" % s.type("ac"), "a = select(A, axis=0, index=0)",
               "y = select(Y, axis=0, index=0)", "y <- reduce_scatter(a, axis=x, op=sum) as c", "wait(c)"]
    others = [text("", inputs + ["T = sum(A, axis=0)"] + source)]
    return Drawn(text("", inputs + added + source), text(s.mesh(), program), others=others)


# ---- packed memory


@operation("pack")
def pack_gather(r):
    """One allgather of two tensors."""
    s = spread(r, "ab", dtypes=["f64", "f32", "i64"])
    n = s.sizes[0]
    s.extent["c"] = n * r.choice((1, 2))
    s.places["c"] = ["x"]
    each = (s.extent["a"] * s.extent["b"] + s.extent["c"]) // n
    source = ["input A: %s" % s.plain("ab"), "input B: %s" % s.plain("c"), "output C = set(A)", "output D = set(B)"]
    program = ["input A: %s" % s.type("ab"), "input B: %s" % s.type("c"),
               "P: %s[%d@x, %d] = allocate()" % (s.dtype, n, each), "G: %s[%d, %d] = allocate()" % (s.dtype, n, each),
               "P <- pack(A, B)", "G <- allgather(P, axis=x) as c", "wait(c)",
               "C: %s, D: %s = unpack(G, blocks=%d)" % (s.plain("ab"), s.plain("c"), n), "output C", "output D"]
    return program_of(s, source, program)


@operation("pack")
def pack_permute(r):
    """Rows of two tensors in one message to another rank, where they have another index."""
    s = spread(r, "ab", dtypes=["f64", "f32", "i64"])
    n, rows = s.sizes[0], r.choice((1, 2))
    s.extent["a"] = n * rows
    by = r.randrange(1, n)
    shapes = {"A": ["a", "b"], "B": ["a", "2"]}
    source = ["input %s: %s" % (x, s.plain(d)) for x, d in shapes.items()]
    for x, y in ("A", "C"), ("B", "D"):
        source += ["%s0 = slice(%s, axis=0, start=%d, stop=%d)" % (x, x, rows * (n - by), rows * n),
                   "%s1 = slice(%s, axis=0, start=0, stop=%d)" % (x, x, rows * (n - by)),
                   "output %s = cat(%s0, %s1, axis=0)" % (y, x, x)]
    program = ["input %s: %s" % (x, s.type(d)) for x, d in shapes.items()]
    program += ["%s: %s[%d@x, %d] = allocate()" % (x, s.dtype, n, rows * (s.extent["b"] + 2)) for x in "PQ"]
    program += ["P <- pack(A, B)", "p = select(P, axis=0, index=0)", "q = select(Q, axis=0, index=0)",
                "q <- collective_permute(p, axis=x, send_peer=(axis_index(x) + %d) %% %d, "
                "recv_peer=(axis_index(x) + %d) %% %d) as c" % (by, n, n - by, n), "wait(c)",
                "C: %s, D: %s = unpack(Q)" % (s.type(shapes["A"]), s.type(shapes["B"])), "output C", "output D"]
    return program_of(s, source, program)


@operation("pack")
def pack_reduce(r):
    """One allreduce of two pending tensors."""
    s = spread(r, "ab", dtypes=["f64", "f32", "i64"])
    s.places["a"] = []
    p = pending_of(r.choice(["sum", "max"]))
    count = s.extent["a"] * s.extent["b"] + s.extent["b"]
    mesh = s.mesh()
    source = ["input A: %s%s" % (s.plain("ab"), p), "input B: %s%s" % (s.plain("b"), p),
              "output C: %s = set(A)" % s.plain("ab"), "output D: %s = set(B)" % s.plain("b")]
    program = ["input A: %s%s" % (s.plain("ab"), p), "input B: %s%s" % (s.plain("b"), p),
               "P: %s[%d]%s = allocate()" % (s.dtype, count, p), "G: %s[%d] = allocate()" % (s.dtype, count),
               "P <- pack(A, B)", "G <- allreduce(P, axis=x) as c", "wait(c)",
               "C: %s, D: %s = unpack(G)" % (s.plain("ab"), s.plain("b")), "output C", "output D"]
    return Drawn(text(mesh, source), text(mesh, program))


# ---- experts


@operation("experts")
def experts(r):
    """Tokens go to their experts and back."""
    s = spread(r, "th", dtypes=["f64", "f32"])
    n = s.sizes[0]
    k, experts_n = r.choice((1, 2)), n * r.choice((1, 2))
    mesh = s.mesh()
    of = ["input X: %s" % s.type("th"), "input I: i64[%s, %d]" % (s.axis("t"), k),
          "input P: %s[%s, %d]" % (s.dtype, s.axis("t"), k),
          "rows, e, w, s, to, from = dispatch(X, I, P, num_experts=%d)"
          % experts_n]
    source = of + ["R = rows * 2.0", "output Y: %s = combine(R, w, s, to, from)" % s.type("th")]
    program = of + ["R: %s[%d@x, %d] = rows * 2.0" % (s.dtype, n * s.extent["t"] * k, s.extent["h"]),
                    "output Y: %s = allocate()" % s.type("th"), "if rank >= 0 {", "  Y <- combine(R, w, s, to, from)",
                    "}"]
    return Drawn(text(mesh, source), text(mesh, program), experts_n)
