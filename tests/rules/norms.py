"""Programs for rules.py: operations that need an axis whole, and indices."""
from spaces import Drawn, REAL, Space, local, operation, text

# ---- operations that need an axis whole


@operation("whole axis")
def softmax(r):
    at = r.randrange(3)
    return local(r, "abc", {"X": "abc"}, "abc", "softmax({X}, axis=%d)" % at, REAL, whole="abc"[at])


@operation("whole axis")
def layernorm(r):
    weights = {"W": "b", "B": "b"} if r.random() < 0.5 else {}
    call = "layernorm({X}%s)" % "".join(", {%s}" % w for w in weights)
    return local(r, "ab", {"X": "ab", **weights}, "ab", call, REAL, whole="b", least=2)


@operation("whole axis")
def rmsnorm(r):
    weights = {"W": "b"} if r.random() < 0.5 else {}
    call = "rmsnorm({X}%s)" % "".join(", {%s}" % w for w in weights)
    return local(r, "ab", {"X": "ab", **weights}, "ab", call, REAL, whole="b", least=2)


@operation("whole axis")
def sdpa(r):
    mask = {"M": "qk"} if r.random() < 0.3 else {}
    more = ", causal=true" if not mask and r.random() < 0.4 else ""
    return local(r, "bqkef", {"Q": "bqe", "K": "bke", "V": "bkf", **mask}, "bqf",
                 "sdpa({Q}, {K}, {V}%s%s)" % (", {M}" if mask else "", more), ["f64", "f32"], whole="kef")


@operation("whole axis")
def sdpa_logs(r):
    """The second result, the logarithms of the sums, where both have one shape."""
    s = Space(r, "bqke", loops=False, whole="ke")
    source = ["input Q: %s" % s.plain("bqe"), "input K: %s" % s.plain("bke"), "input V: %s" % s.plain(["b", "k", "1"]),
              "O, L = sdpa(Q, K, V)", "output Y = L + L"]
    t = s.type(["b", "q", "1"])
    program = [*s.input("Q", "bqe"), *s.input("K", "bke"), *s.input("V", ["b", "k", "1"]),
               "O: %s, L: %s = sdpa(Q, K, V)" % (t, t), "output Y: %s = allocate()" % t, "Y <- L + L"]
    others = [text("", source[:-1] + ["output Y = O + O"])]
    return Drawn(text("", source), text(s.mesh(), program), others=others)


@operation("whole axis")
def pieces(r):
    """A softmax of an axis that consists of two pieces."""
    s = Space(r, "a", REAL, loops=False)
    a, b = r.randrange(1, 4), r.randrange(1, 4)
    source = ["input A: %s" % s.plain(["a", str(a)]), "input B: %s" % s.plain(["a", str(b)]), "C = cat(A, B, axis=1)",
              "output Y = softmax(C, axis=1)"]
    program = [*s.input("A", ["a", str(a)]), *s.input("B", ["a", str(b)]),
               "output Y: %s = allocate()" % s.type(["a", str(a + b)]),
               "C: %s = allocate()" % s.type(["a", str(a + b)]),
               "C <- cat(A, B, axis=1)", "Y <- softmax(C, axis=1)"]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("contraction")
def constants(r):
    """Reductions and norms of elements that are equal along the axis."""
    s = Space(r, "ab", loops=False)
    s.extent["b"] = r.choice((5, 7))  # not the number of ranks, whose copies would add up to the same
    word = r.choice(["sum", "mean", "max", "min", "prod", "softmax"])
    number = r.choice(["full(2.0)", "full(0.5)", "broadcast(X, [%d, %d])" % (s.extent["a"], s.extent["b"])])
    kept = word != "softmax"
    if not kept:
        s.places["b"] = []
    call = "%s(%%s, axis=1%s)" % (word, ", keepdims=true" if kept else "")
    out = ["a", "1"] if kept else "ab"
    reduce = {"sum": "", "mean": r.choice(["", "avg"])}.get(word, word)
    pending = s.pending("b") if kept else []
    source = ["input X: %s" % s.plain(["a", "1"]), "B: %s = %s" % (s.plain("ab"), number), "C = " + call % "B",
              "output Y = C + X"]
    program = [*s.input("X", ["a", "1"]), "B: %s = %s" % (s.type("ab"), number), "C: %s = allocate()" % s.type(out)]
    if pending:
        axis = pending[0] if len(pending) == 1 else "(x, y)"
        program += ["P: %s = allocate()" % s.type(out, partial="b", reduce=reduce), "P <- " + call % "B",
                    "C <- allreduce(P, axis=%s) as c" % axis, "wait(c)"]
    else:
        program += ["C <- " + call % "B"]
    program += ["output Y: %s = allocate()" % s.type(out), "Y <- C + X"]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("whole axis")
def ranges(r):
    """Results that are never negative, or do not change if a number is added: other functions may be equal then."""
    s = Space(r, "ab", loops=False, whole="b", least=2)
    inner = r.choice(["softmax(%s, axis=1)", "layernorm(%s)", "rmsnorm(%s)", "relu(%s)", "sigmoid(%s)", "exp(%s)",
                      "%s * %s"])
    outer = r.choice(["relu(%s)", "abs(%s)", "neg(%s)", "%s + %s", "sum(%s, axis=1, keepdims=true)",
                      "max(%s, axis=1, keepdims=true)"])
    of = ["X", "X + 1.0", "X + X", "X - X", "X * X", "Z", "X * 2.0"]

    def lines(inner, outer, operand):
        fill = lambda form, name: form.replace("%s", name)
        return ["A = " + operand if " " in operand else "A = set(%s)" % operand, "B = " + fill(inner, "A"),
                "C = " + fill(outer, "B"), "output Y = C + Z"]
    inputs = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab")]
    given = r.choice(of)
    last = lines(inner, outer, given)
    typed = s.type(["a", "1"]) if "axis" in outer else s.type("ab")
    program = [*s.input("X", "ab"), *s.input("Z", "ab"), last[0].replace("A =", "A: %s =" % s.type("ab")),
               last[1].replace("B =", "B: %s =" % s.type("ab")), last[2].replace("C =", "C: %s =" % typed),
               "output Y: %s = allocate()" % s.type("ab"), "Y <- C + Z"]
    others = [text("", inputs + x) for x in (lines(inner, "set(%s)", given), lines(inner, outer, r.choice(of)),
                                             lines("set(%s)", outer, given), lines(inner, "abs(%s)", given))]
    return Drawn(text("", inputs + last), text(s.mesh(), program), others=others)


# ---- indices


@operation("indices")
def gather(r):
    s = Space(r, "hi", ["f64", "f32"])
    at, n = r.randrange(2), r.randrange(2, 5)
    dims = [str(n), "h"] if at == 0 else ["h", str(n)]
    out = "ih" if at == 0 else "hi"
    call = "gather(%%s, %%s, axis=%d)" % at
    inputs = {"X": dims, "Z": dims, "I": "i", "J": "i"}
    types = {"I": "i64", "J": "i64"}
    source = ["input %s: %s" % (x, s.plain(d, types.get(x))) for x, d in inputs.items()]
    source[3] = source[3].replace("J:", "I1:")
    source.append("output Y = " + call % ("X", "I"))
    program = [line for x, d in inputs.items() for line in s.input(x if x != "J" else "I1", d, types.get(x))]
    program.append("output Y: %s = allocate()" % s.type(out))
    program += s.write({"X": dims, "I": "i", "Y": out},
                       lambda name: "%s <- %s" % (name("Y"), call % (name("X"), name("I"))), "Y")
    return Drawn(text("", source), text(s.mesh(), program), n)


@operation("indices")
def gather_parts(r):
    """Each rank has a block of the table; the sum is pending."""
    s = Space(r, "vhi", loops=False, mesh=r.choice([(2,), (3,)]))
    s.places = {"v": ["x"], "h": [], "i": []}
    source = ["input X: %s" % s.plain("vh"), "input Z: %s" % s.plain("vh"), "input I: %s" % s.plain("i", "i64"),
              "output Y = gather(X, I, axis=0)"]
    program = ["input X: %s" % s.type("vh"), "input Z: %s" % s.type("vh"), "input I: %s" % s.type("i", "i64"),
               "output Y: %s = allocate()" % s.type("ih"),
               "P: %s = allocate()" % s.type("ih", partial="v"), "P <- gather(X, I, axis=0)",
               "Y <- allreduce(P, axis=x) as c", "wait(c)"]
    return Drawn(text("", source), text(s.mesh(), program), s.extent["v"])


@operation("indices")
def topk(r):
    s = Space(r, "ab", loops=False, whole="b", least=2)
    k = r.randrange(1, s.extent["b"] + 1)
    source = ["input X: %s" % s.plain("ab"), "output Y, J = topk(X, k=%d, axis=1)" % k]
    t, j = s.type(["a", str(k)]), s.type(["a", str(k)], "i64")
    program = [*s.input("X", "ab"), "V: %s, W: %s = topk(X, k=%d, axis=1)" % (t, j, k),
               "output Y: %s = set(V)" % t, "output J: %s = set(W)" % j]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("indices")
def one_hot(r):
    n = r.randrange(2, 5)
    return local(r, "ab", {"I": "ab"}, ["a", "b", str(n)], "one_hot({I}, num_classes=%d)" % n, ["i64"],
                 limit=n, out="i64")


@operation("indices")
def iota(r):
    s = Space(r, "ab", ["f64", "i64"])
    shape = "%d, %d" % (s.extent["a"], s.extent["b"])
    source = ["input X: %s" % s.plain("ab"), "N: %s = iota(shape=[%s])" % (s.plain("ab"), shape), "output Y = X + N"]
    program = [*s.input("X", "ab"), "N: %s = allocate()" % s.type("ab"), "N <- iota(shape=[%s])" % shape,
               "output Y: %s = allocate()" % s.type("ab")]
    program += s.write({"X": "ab", "N": "ab", "Y": "ab"}, lambda name: "%s <- %s + %s" % (
        name("Y"), name("X"), name("N")), "Y")
    return Drawn(text("", source), text(s.mesh(), program))


@operation("indices")
def uniform(r):
    s = Space(r, "ab", ["f64"])
    sources = [["input X: %s" % s.plain("ab"), "U: %s = uniform(seed=%d, offset=%d)" % (s.plain("ab"), seed, offset),
                "output Y = X + U"] for seed, offset in ((1, 0), (2, 0), (1, 1))]
    program = [*s.input("X", "ab"), "U: %s = allocate()" % s.type("ab"), "U <- uniform(seed=1, offset=0)",
               "output Y: %s = allocate()" % s.type("ab")]
    program += s.write({"X": "ab", "U": "ab", "Y": "ab"}, lambda name: "%s <- %s + %s" % (
        name("Y"), name("X"), name("U")), "Y")
    source, *others = [text("", lines) for lines in sources]
    return Drawn(source, text(s.mesh(), program), others=others)
