"""Programs for rules.py: memory, views and copies on one rank."""
from spaces import Drawn, NUMBERS, Space, local, operation, text

# ---- memory and views


@operation("allocate")
def zero_init(r):
    """One block of a buffer is written, the others keep its zeros; and a product is added."""
    s = Space(r, "mk", loops=False)
    k = r.randrange(2)
    s.extent["m"] = 4
    source = ["input X: %s" % s.plain("mk"), "S = slice(X, axis=0, start=%d, stop=%d)" % (2 * k, 2 * k + 2),
              "output Y = pad(S, axis=0, before=%d, after=%d)" % (2 * k, 2 - 2 * k)]
    s.places["m"] = []
    s.loop, s.blocks = "m", 2
    program = [*s.input("X", "mk"), "output Y: %s = allocate(zero_init=true)" % s.type("mk"),
               "a = shard_by_stream(X, %d)" % k, "b = shard_by_stream(Y, %d)" % k, "b <- set(a)"]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("view")
def select(r):
    s = Space(r, "abc", NUMBERS, loops=False)
    at = r.randrange(3)
    dims = "abc".replace("abc"[at], "")
    if r.random() < 0.5:  # a row of each rank, or one row of all
        s.places["abc"[at]] = []
        k = r.randrange(s.extent["abc"[at]])
        source = ["input X: %s" % s.plain("abc"), "output Y = select(X, axis=%d, index=%d)" % (at, k)]
        program = [*s.input("X", "abc"), "output Y: %s = allocate()" % s.type(dims),
                   "a = select(X, axis=%d, index=%d)" % (at, k), "Y <- set(a)"]
        return Drawn(text("", source), text(s.mesh(), program))
    s.places["abc"[at]] = []
    source = ["input X: %s" % s.plain("abc"), "output Y = set(X)"]
    program = [*s.input("X", "abc"), "output Y: %s = allocate()" % s.type("abc"),
               "for i in 0..%d {" % s.extent["abc"[at]], "  a = select(X, axis=%d, index=i)" % at,
               "  b = select(Y, axis=%d, index=i)" % at, "  b <- set(a)", "}"]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("view")
def shard_by_stream(r):
    """Blocks of blocks, in an order of their own on each rank."""
    s = Space(r, "ab", NUMBERS, loops=False)
    outer = r.choice((2, 3))
    of = "a" if r.random() < 0.5 else "b"
    s.loop, s.blocks = of, outer
    shift = r.choice(["i", "(i + rank) %% %d" % outer, "%d - i" % (outer - 1)])
    source = ["input X: %s" % s.plain("ab"), "output Y = X * 2.0" if s.dtype[0] != "i" else "output Y = X + X"]
    program = [*s.input("X", "ab"), "output Y: %s = allocate()" % s.type("ab"), "for i in 0..%d {" % outer,
               "  a = shard_by_stream(X, %s)" % shift, "  b = shard_by_stream(Y, %s)" % shift,
               "  b <- a * 2.0" if s.dtype[0] != "i" else "  b <- a + a", "}"]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("view")
def symmetric_view(r):
    """A buffer of each rank, which all ranks read."""
    s = Space(r, "ab", ["f64", "f32"], loops=False, mesh=r.choice([(2,), (3,), (4,)]))
    s.places = {"a": ["x"], "b": []}
    s.extent["a"] = s.ranks * r.choice((1, 2))
    source = ["input X: %s" % s.plain("ab"), "input Z: %s" % s.plain("ab"), "output Y = set(X)"]
    program = ["input X: %s" % s.type("ab"), "input Z: %s" % s.type("ab"), "output Y: %s = allocate()" % s.plain("ab"),
               "S: %s symmetric = allocate()" % s.type("ab"), "S <- set(X)", "V = symmetric_view(S)"]
    if r.random() < 0.5:
        program += ["Y <- set(V)"]
    else:
        program += ["for i in 0..%d {" % s.extent["b"], "  v = select(V, axis=1, index=i)",
                    "  y = select(Y, axis=1, index=i)", "  y <- set(v)", "}"]
    return Drawn(text("", source), text(s.mesh(), program + ["deallocate(V)"]))


# ---- copies


@operation("copy")
def reshape_slice(r):
    """A block of two axes in one axis: its place depends on the shape of the block."""
    s = Space(r, "s", NUMBERS, loops=False)
    a, b = r.randrange(1, 4), r.randrange(1, 4)
    x = [str(4), str(4), "s"]

    def lines(a, b):
        return ["A = slice(X, axis=0, start=0, stop=%d)" % a, "B = slice(A, axis=1, start=0, stop=%d)" % b,
                "output Y = reshape(B, [%d, %d])" % (a * b, s.extent["s"])]
    source = ["input X: %s" % s.plain(x)]
    program = [*s.input("X", x), "A: %s = slice(X, axis=0, start=0, stop=%d)" % (s.type([str(a), "4", "s"]), a),
               "B: %s = slice(A, axis=1, start=0, stop=%d)" % (s.type([str(a), str(b), "s"]), b),
               "output Y: %s = reshape(B, [%d, %d])" % (s.type([str(a * b), "s"]), a * b, s.extent["s"])]
    return Drawn(text("", source + lines(a, b)), text(s.mesh(), program), others=[text("", source + lines(b, a))])


@operation("copy")
def set_(r):
    dims = r.choice(["a", "ab", "abc", "abc"])
    return local(r, dims, {"X": dims}, dims, "set({X})", NUMBERS)


@operation("copy")
def permute(r):
    order = r.sample(range(3), 3)
    return local(r, "abc", {"X": "abc"}, "".join("abc"[k] for k in order),
                 "permute({X}, (%s))" % ", ".join(map(str, order)), NUMBERS)


@operation("copy")
def broadcast(r):
    s = Space(r, "abc", NUMBERS)
    of = r.choice(["bc", "c", "1c", "a1c"])
    shape = ", ".join(str(s.extent[d]) for d in "abc")
    source = ["input X: %s" % s.plain(of), "input Z: %s" % s.plain(of), "output Y = broadcast(X, [%s])" % shape]
    program = [*s.input("X", of), *s.input("Z", of), "output Y: %s = allocate()" % s.type("abc")]
    program += s.write({"X": of, "Y": "abc"},
                       lambda name: "%s <- broadcast(%s, [%s])" % (name("Y"), name("X"), shape), "Y")
    return Drawn(text("", source), text(s.mesh(), program))


@operation("copy")
def slice_(r):
    s = Space(r, "ab", NUMBERS)
    n = s.extent["c"] = r.randrange(2, 7)
    s.places["c"] = []
    start = r.randrange(n)
    stop = r.randrange(start + 1, n + 1)
    dims = r.choice(["cab", "acb", "abc"])
    at = dims.index("c")
    call = "slice(%%s, axis=%d, start=%d, stop=%d)" % (at, start, stop)
    out = [d if d != "c" else str(stop - start) for d in dims]
    source = ["input X: %s" % s.plain(dims), "input Z: %s" % s.plain(dims), "output Y = " + call % "X"]
    program = [*s.input("X", dims), *s.input("Z", dims), "output Y: %s = allocate()" % s.type(out)]
    program += s.write({"X": dims, "Y": out}, lambda name: "%s <- %s" % (name("Y"), call % name("X")), "Y")
    return Drawn(text("", source), text(s.mesh(), program))


@operation("copy")
def pad(r):
    s = Space(r, "ab", NUMBERS)
    n = s.extent["c"] = r.randrange(1, 6)
    s.places["c"] = []
    before, after = r.randrange(3), r.randrange(3)
    dims = r.choice(["cab", "acb", "abc"])
    call = "pad(%%s, axis=%d, before=%d, after=%d)" % (dims.index("c"), before, after)
    out = [d if d != "c" else str(before + n + after) for d in dims]
    source = ["input X: %s" % s.plain(dims), "input Z: %s" % s.plain(dims), "output Y = " + call % "X"]
    program = [*s.input("X", dims), *s.input("Z", dims), "output Y: %s = allocate()" % s.type(out)]
    program += s.write({"X": dims, "Y": out}, lambda name: "%s <- %s" % (name("Y"), call % name("X")), "Y")
    return Drawn(text("", source), text(s.mesh(), program))


@operation("copy")
def cat(r):
    s = Space(r, "ab", NUMBERS)
    n = r.choice((2, 2, 3))
    parts = [str(r.randrange(1, 4)) for _ in range(n)]
    dims = r.choice(["cab", "acb", "abc"])
    at = dims.index("c")
    of = {"ABC"[k]: [d if d != "c" else parts[k] for d in dims] for k in range(n)}
    out = [d if d != "c" else str(sum(map(int, parts))) for d in dims]
    call = "cat(%s, axis=%d)" % (", ".join(["%s"] * n), at)
    source = ["input %s: %s" % (name, s.plain(d)) for name, d in of.items()] + ["output Y = " + call % tuple(of)]
    program = [line for name, d in of.items() for line in s.input(name, d)]
    program += ["output Y: %s = allocate()" % s.type(out)]
    program += s.write(dict(of, Y=out), lambda name: "%s <- %s" % (name("Y"), call % tuple(map(name, of))), "Y")
    return Drawn(text("", source), text(s.mesh(), program))


@operation("copy")
def split(r):
    s = Space(r, "ab", NUMBERS, loops=False)
    a, b = r.randrange(1, 4), r.randrange(1, 4)
    dims = r.choice(["cab", "acb", "abc"])
    at = dims.index("c")
    whole, first, second = ([d if d != "c" else str(n) for d in dims] for n in (a + b, a, b))
    call = "split(X, axis=%d, sizes=[%d, %d])" % (at, a, b)
    source = ["input X: %s" % s.plain(whole), "P, Q = " + call, "output Y = cat(Q, P, axis=%d)" % at]
    program = [*s.input("X", whole), "output Y: %s = allocate()" % s.type(whole)]
    program += ["P: %s, Q: %s = %s" % (s.type(first), s.type(second), call)]
    program += ["Y <- cat(Q, P, axis=%d)" % at]
    return Drawn(text("", source), text(s.mesh(), program))


@operation("copy")
def reshape(r):
    """Axes are merged or split, beside an axis that stays. Of several axes of one element any may be that axis."""
    s = Space(r, "s", NUMBERS, least=2)
    a, b = r.randrange(1, 5), r.randrange(1, 5)
    s.extent.update(a=a, b=b, c=a * b)
    s.places.update(a=[], b=[], c=[])
    one, other = r.sample(["ab", "c", r.choice(["ba", "1c", "c1"])], 2)
    if r.random() < 0.5:
        one, other = "s" + one, "s" + other
    else:
        one, other = one + "s", other + "s"
    if r.random() < 0.3 and s.ranks > 1 and len(s.sizes) == 1 and not s.places["s"]:  # the outer axis is placed
        s.extent.update(a=s.ranks, c=s.ranks * b)
        s.places.update(a=["x"], c=["x"])
        one, other = r.sample(["ab", "c"], 2)
        one, other = one + "s", other + "s"
    shape = ", ".join(str(s.extent.get(d, d)) for d in other)
    source = ["input X: %s" % s.plain(one), "input Z: %s" % s.plain(one), "output Y = reshape(X, [%s])" % shape]
    program = [*s.input("X", one), *s.input("Z", one), "output Y: %s = allocate()" % s.type(other)]
    program += s.write({"X": one, "Y": other}, lambda name: "%s <- reshape(%s, [%s])" % (name("Y"), name("X"), shape),
                       "Y")
    return Drawn(text("", source), text(s.mesh(), program))
