"""Programs for rules.py: operations on elements, products and reductions."""
from spaces import Drawn, NUMBERS, REAL, Space, local, operation, text

# ---- pointwise


@operation("pointwise")
def unary(r):
    word = r.choice("neg abs exp tanh sigmoid relu sin cos erf gelu silu".split())
    return local(r, "ab", {"X": "ab"}, "ab", word + "({X})", REAL)


@operation("pointwise")
def binary(r):
    word = r.choice("add sub mul maximum minimum".split())
    return local(r, "ab", {"X": "ab", "B": r.choice(["ab", "b", "1b", "a1"])}, "ab", word + "({X}, {B})", NUMBERS)


@operation("pointwise")
def literal(r):
    word = r.choice("add sub mul div maximum pow".split())
    return local(r, "ab", {"X": "ab"}, "ab", word + "({X}, %s)" % r.choice(["2.0", "0.5", "3.0"]))


@operation("pointwise")
def integers(r):
    word = r.choice("div mod bitwise_and bitwise_xor mul add maximum".split())
    return local(r, "ab", {"X": "ab"}, "ab", word + "({X}, %d)" % r.choice([2, 3]), ["i64", "i32", "i8", "u8"])


@operation("pointwise")
def bools(r):
    word = r.choice("add sub mul logical_and logical_or maximum".split())
    return local(r, "ab", {"X": "ab", "B": "ab"}, "ab", word + "({X}, {B})", ["bool"])


@operation("pointwise")
def where(r):
    return local(r, "ab", {"C": "ab", "A": "ab", "B": r.choice(["ab", "b"])}, "ab", "where({C}, {A}, {B})", REAL,
                 types={"C": "bool"})


@operation("pointwise")
def compare(r):
    word = r.choice("gt lt ge le eq ne".split())
    return local(r, "ab", {"A": "ab", "B": r.choice(["ab", "b"])}, "ab", word + "({A}, {B})", REAL, out="bool", least=2)


@operation("pointwise")
def cast(r):
    to = r.choice(["f32", "bf16", "i32", "f64", "i8"])
    return local(r, "ab", {"X": "ab"}, "ab", "cast({X})", ["f64", "f32", "i32"], out=to)


@operation("pointwise")
def full(r):
    s = Space(r, "ab", NUMBERS)
    number = r.choice(["0.0", "2.0", "3.0"]) if s.dtype[0] != "i" else r.choice("023")
    source = ["input X: %s" % s.plain("ab"), "F: %s = full(%s)" % (s.plain("ab"), number), "output Y = X + F"]
    program = [*s.input("X", "ab"), "output Y: %s = allocate()" % s.type("ab")]
    program += s.write({"X": "ab", "Y": "ab"}, lambda name: "%s <- full(%s)\n%s <- %s + %s" % (
        name("Y"), number, name("Y"), name("X"), name("Y")), "Y")
    return Drawn(text("", source), text(s.mesh(), program))


@operation("pointwise")
def stencil(r):
    """The sum of neighbours, row by row."""
    s = Space(r, "b", loops=False)
    n, far = r.randrange(4, 7), r.choice((1, 2))
    ends = ", start=%d, stop=%d)"
    source = ["input X: %s" % s.plain([str(n), "b"]), "A = slice(X, axis=0" + ends % (0, n - far),
              "B = slice(X, axis=0" + ends % (far, n), "output Y = A - B"]
    program = [*s.input("X", [str(n), "b"]), "output Y: %s = allocate()" % s.type([str(n - far), "b"])]
    if r.random() < 0.5:
        program += ["for i in 0..%d {" % (n - far), "  a = select(X, axis=0, index=i)",
                    "  b = select(X, axis=0, index=i + %d)" % far, "  y = select(Y, axis=0, index=i)", "  y <- a - b",
                    "}"]
    else:
        program += ["for i in 0..%d {" % (n - far), "  a: %s = slice(X, axis=0, start=i, stop=i + 1)" % s.type("1b"),
                    "  b: %s = slice(X, axis=0, start=i + %d, stop=i + %d)" % (s.type("1b"), far, far + 1),
                    "  t: %s = a - b" % s.type("1b"), "  y = select(Y, axis=0, index=i)",
                    "  u = select(t, axis=0, index=0)",
                    "  y <- set(u)", "}"]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("pointwise")
def pending(r):
    """Sums of parts are added, scaled and multiplied before they are complete."""
    s = Space(r, "mkn", ["f64", "f32"], loops=False)
    s.places = {"m": [], "k": list(s.axes), "n": []}
    how = r.choice(["P * 2.0", "neg(P)", "P + Q", "P - Q", "mul(P, D)"])
    axis = "x" if len(s.axes) == 1 else "(x, y)"
    source = ["input A: %s" % s.plain("mk"), "input B: %s" % s.plain("kn"), "input C: %s" % s.plain("kn"),
              "input D: %s" % s.plain("mn"), "P = matmul(A, B)", "Q = matmul(A, C)", "output Y = " + how]
    program = ["input A: %s" % s.type("mk"), "input B: %s" % s.type("kn"), "input C: %s" % s.type("kn"),
               "input D: %s" % s.type("mn"), "output Y: %s = allocate()" % s.type("mn")]
    program += ["%s: %s = allocate()" % (name, s.type("mn", partial="k")) for name in "PQR"]
    program += ["P <- matmul(A, B)", "Q <- matmul(A, C)", "R <- " + how, "Y <- allreduce(R, axis=%s) as c" % axis,
                "wait(c)"]
    return Drawn(text("", source), text(s.mesh(), program))


# ---- contractions and reductions


@operation("contraction")
def matmul(r):
    batch = r.choice(["", "", "b"])
    a, b = batch + "mk", (batch if r.random() < 0.5 else "") + "kn"
    return local(r, "bmkn", {"A": a, "B": b}, batch + "mn", "matmul({A}, {B})", REAL, reduced="k")


@operation("contraction")
def linear(r):
    if r.random() < 0.5:
        return local(r, "mkn", {"A": "mk", "B": "nk"}, "mn", "linear({A}, {B})", REAL, reduced="k")
    return local(r, "mkn", {"A": "mk", "B": "nk", "C": "n"}, "mn", "linear({A}, {B}, {C})", REAL, whole="k")


@operation("contraction")
def accumulate(r):
    """A product is added up block by block, and over ranks."""
    s = Space(r, "mkn", ["f64", "f32"], loops=False)
    s.places = {"m": [], "k": [s.axes[0]] if r.random() < 0.5 else [], "n": []}
    s.loop = "k"
    pending = s.pending("k")
    source = ["input A: %s" % s.plain("mk"), "input B: %s" % s.plain("kn"), "output Y = matmul(A, B)"]
    program = [*s.input("A", "mk", reduced="k"), *s.input("B", "kn", reduced="k")]
    if not pending:
        program += ["output Y: %s = allocate(zero_init=true)" % s.plain("mn")]
    else:
        program += ["output Y: %s = allocate()" % s.plain("mn"),
                    "P: %s = allocate(zero_init=true)" % s.type("mn", partial="k")]
    program += ["for i in 0..%d {" % s.blocks, "  a = shard_by_stream(A, i)", "  b = shard_by_stream(B, i)",
                "  %s <- matmul(a, b, accumulate=true)" % ("P" if pending else "Y"), "}"]
    if pending:
        program += ["Y <- allreduce(P, axis=x) as c", "wait(c)"]
    return Drawn(text("", source), text(s.mesh(), program))


def reduction(word, reduce, dtypes, row="contraction"):
    def draw_it(r):
        dims = r.choice(["ab", "abc"])
        at = r.randrange(len(dims))
        keep = r.random() < 0.3
        out = dims.replace(dims[at], "1" if keep else "")
        call = word + "({X}, axis=%d%s)" % (at, ", keepdims=true" if keep else "")
        return local(r, dims, {"X": dims}, out, call, dtypes, reduced=dims[at], reduce=reduce)
    draw_it.__name__ = word
    operation(row)(draw_it)


reduction("sum", "", NUMBERS)
reduction("mean", "avg", ["f64", "f32"])
reduction("max", "max", NUMBERS)
reduction("min", "min", NUMBERS)
reduction("prod", "prod", ["f64", "i64"])


@operation("contraction")
def average(r):
    """A mean whose parts are sums that are divided by the whole axis."""
    s = Space(r, "ab", ["f64", "f32"], loops=False, mesh=r.choice([(2,), (3,)]))
    s.places = {"a": ["x"], "b": []}
    n = s.extent["a"]
    source = ["input X: %s" % s.plain("ab"), "output Y = mean(X, axis=0)"]
    program = ["input X: %s" % s.type("ab"), "output Y: %s = allocate()" % s.type("b"),
               "P: %s = allocate()" % s.type("b", partial="a"), "P <- sum(X, axis=0)",
               "T: %s = allocate()" % s.type("b"), "T <- allreduce(P, axis=x) as c", "wait(c)",
               "Y <- T / %d.0" % n]
    return Drawn(text("", source), text(s.mesh(), program))
