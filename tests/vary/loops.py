"""Random programs of loops that write: `A <- op(...)` into inouts and outputs, whole or by parts that loop indices
choose. They are right: no iteration of a stream-parallel loop touches the parts that another one writes. verdicts.py
runs them."""
import random
import re

OPERATIONS = ["relu({})", "neg({})", "abs({})", "{} * 0.5", "{} + 1.0"]
PAIRS = ["add({}, {})", "sub({}, {})", "maximum({}, {})", "{} + {}"]
MOST_PARTS = 4


class Loops:
    """X, Z are only read, A, B are inouts, Y, V outputs. X, A, Y have a row for each iteration, Z, B, V a block of a
    stream axis."""

    def __init__(self, seed, number):
        self.r = r = random.Random("loops %d/%d" % (seed, number))
        self.n = r.randint(2, MOST_PARTS)
        self.names = 0
        ranks = r.choice([1, 2, 2, 3])
        width = "%d%s" % (r.choice([2, 3, 4]), "@x" * (ranks > 1 and r.random() < 0.6))
        block = r.choice([1, 2, 3])
        dtype = r.choice(["f32", "f32", "f64", "i32"])
        self.rows = "%s[%d, %s]" % (dtype, self.n, width)
        cut = "@%s(%d)" % (r.choice(["stream", "stream", "serial"]), self.n)
        self.blocks = "%s[%d%s, %s]" % (dtype, self.n * block, cut, width)
        self.operations = OPERATIONS[:3] if dtype == "i32" else OPERATIONS
        self.lines = ["mesh m(x = %d)" % ranks, "program p on m {"]
        for name, word in (("X", "input"), ("A", "inout"), ("Z", "input"), ("B", "inout")):
            self.put(1, "%s %s: %s" % (word, name, self.type(name)))
        for name in "YV":
            zero = "zero_init=true" * (r.random() < 0.5)
            self.put(1, "output %s: %s = allocate(%s)" % (name, self.type(name), zero))
            if not zero:
                self.put(1, "%s <- %s(%s)" % (name, r.choice(["set", "neg", "relu"]), "X" if name == "Y" else "Z"))
        for _ in range(r.randint(1, 4)):
            if r.random() < 0.2:
                self.whole(1)
            else:
                self.loop(1)
        self.text = "\n".join(self.lines) + "\n}\n"

    def options(self):
        return []

    def type(self, name):
        return self.rows if name in "XAY" else self.blocks

    def put(self, depth, text):
        self.lines.append("  " * depth + text)

    def part(self, depth, name, index):
        """Returns a row or a block, by its own statement or in place."""
        call = "select(%s, axis=0, index=%s)" if name in "XAY" else "shard_by_stream(%s, %s)"
        if depth == 0:
            return call % (name, index)
        self.names += 1
        self.put(depth, "v%d = %s" % (self.names, call % (name, index)))
        return "v%d" % self.names

    def call(self, values):
        """Returns a call of one to three values, nested at random."""
        r = self.r
        text = r.choice(values)
        for _ in range(r.randint(1, 2)):
            text = "(%s)" % text if re.search(r" [*+] ", text) else text
            if r.random() < 0.5:
                text = r.choice(self.operations).format(text)
            else:
                text = r.choice(PAIRS).format(text, r.choice(values))
        return text

    def whole(self, depth):
        family = self.r.choice(["XAY", "ZBV"])
        self.put(depth, "%s <- %s" % (self.r.choice(family[1:]), self.call(list(family))))

    def loop(self, depth):
        r, index = self.r, "i%d" % len(self.lines)
        parallel = r.random() < 0.5
        first = 0 if parallel or r.random() < 0.7 else 1
        self.put(depth, "for %s in %d..%d%s {" % (index, first, self.n, " parallel(stream)" * parallel))
        moved = "(%s + %d) %% %d" % (index, r.randint(1, 3), self.n)
        own = r.choice([index, index, moved, "%d - %s" % (self.n - 1, index)])
        for _ in range(r.randint(1, 3)):
            self.write(depth + 1, index, own, parallel)
        if depth < 2 and r.random() < 0.3:
            inner = "j%d" % len(self.lines)
            self.put(depth + 1, "for %s in 0..%d {" % (inner, r.randint(1, 3)))
            self.write(depth + 2, index, own, parallel, inner)
            self.put(depth + 1, "}")
        if r.random() < 0.25:
            self.put(depth + 1, "if %s %s {" % (index, r.choice(["> 0", "== 1", "% 2 == 0"])))
            self.write(depth + 2, index, own, parallel)
            if r.random() < 0.5:
                self.put(depth + 1, "} else {")
                self.write(depth + 2, index, own, parallel)
            self.put(depth + 1, "}")
        if depth < 2 and not parallel and r.random() < 0.2:
            self.loop(depth + 1)
        if not parallel and r.random() < 0.2:
            self.whole(depth + 1)
        self.put(depth, "}")

    def write(self, depth, index, own, parallel, inner=None):
        """Writes the iteration's own part, from that part of written values and any part of read-only ones. If
        iterations are in order, any parts are used."""
        r, family = self.r, self.r.choice(["XAY", "ZBV"])
        anywhere = [own, index, "(%s + %d) %% %d" % (index, r.randint(1, 3), self.n), "%d" % r.randrange(self.n)]
        anywhere += ["(%s + %s) %% %d" % (index, inner, self.n)] if inner else []
        values = []
        for name in family:
            at = r.choice(anywhere) if name == family[0] or not parallel else own
            values.append(self.part(r.choice([0, depth]), name, at))
        to = self.part(depth, r.choice(family[1:]), own if parallel else r.choice(anywhere))
        self.put(depth, "%s <- %s" % (to, self.call(values)))
