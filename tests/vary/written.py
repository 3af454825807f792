"""Random programs that overwrite tensors. Some statements read a tensor while they write it, as a whole or through a
view. Each tensor is cut into loops in another way, or not at all; all ranks compute the same. programs.py runs them."""
import random

STATEMENTS = ["relu({u})", "neg({u})", "add({u}, {w})", "sub({v}, {u})", "matmul({u}, {w})", "matmul({v}, {u})",
              "matmul({u}, {v})", "permute({u}, (1, 0))", "permute({v}, (1, 0))", "softmax({v}, axis={a})", "set({u})"]
OF_VIEWS = ["neg({r})", "sum({u}, axis={a})", "max({v}, axis={a})", "sub({r}, {s})", "set({s})"]


class Written:
    def __init__(self, seed, number, cuda=False):
        self.r = r = random.Random("written %d/%d" % (seed, number))
        self.number = number
        self.flags = ["--target=cuda"] * cuda
        self.n = r.choice([4, 6, 8])
        self.dtype = r.choice(["f32", "f64"])
        self.names = ["A", "B", "C"][:r.randint(1, 3)]
        self.views, self.products = 0, 4  # products: number still allowed, so that values remain small
        self.lines = ["mesh m(x = %d)" % r.choice([1, 2]), "program p on m {"]
        self.lines += ["  input %s: %s" % (name, self.type()) for name in self.names]
        for _ in range(r.randint(1, 4)):
            if r.random() < 0.25:
                times = r.randint(1, 3)
                self.lines.append("  for i%d in 0..%d {" % (len(self.lines), times))
                for _ in range(r.randint(1, 3)):
                    self.statement("    ", times)
                self.lines.append("  }")
            else:
                self.statement("  ", 1)
        self.lines += ["  output Y%s: %s = set(%s)" % (name, self.type(), name) for name in self.names]
        self.text = "\n".join(self.lines) + "\n}\n"

    def type(self):
        cuts = ["", "", "@stream(2)", "@stream(%d)" % self.n, "@serial(2)", "@swizzle1d(x)"]
        return "%s[%s]" % (self.dtype, ", ".join(str(self.n) + self.r.choice(cuts) for _ in range(2)))

    def view(self, indent, of, axis):
        self.views += 1
        name = "v%d" % self.views
        self.lines.append("%s%s = select(%s, axis=%d, index=%d)" % (indent, name, of, axis, self.r.randrange(self.n)))
        return name

    def computed(self, times, **names):
        text = self.r.choice(STATEMENTS)
        if "matmul" in text and self.products < times:
            text = "sub({u}, {w})"
        self.products -= times * ("matmul" in text)
        return text.format(**names)

    def statement(self, indent, times):
        r = self.r
        v, u, w, axis = r.choice(self.names), r.choice(self.names), r.choice(self.names), r.randrange(2)
        if r.random() < 0.3:
            to, other = self.view(indent, v, axis), self.view(indent, r.choice([u, v]), axis)
            text = r.choice(OF_VIEWS).format(r=to, s=other, u=u, v=v, a=axis)
            self.lines.append("%s%s <- %s" % (indent, to, text))
            return
        if r.random() < 0.3:
            self.views += 1
            made = "t%d" % self.views
            self.lines.append("%s%s = %s" % (indent, made, self.computed(times, u=u, v=v, w=w, a=axis)))
            u, v = made, r.choice(self.names)
        self.lines.append("%s%s <- %s" % (indent, v, self.computed(times, u=u, v=v, w=w, a=axis)))

    def shown(self):
        return self.text + "".join("# %s\n" % o for o in self.options())

    def options(self):
        return ["--inter-stream-sync"] * (self.number % 3 == 2)
