"""Random programs of products and collectives, as in tensor parallel and data parallel training: input for
merge-collectives, split-allreduces and chunk-collectives."""
import random

EXTENTS = [4, 6, 8, 12, 16, 24]
MESHES = ["x = 2", "x = 4", "x = 3", "y = 2, x = 2", "x = 2, y = 2"]
PASSES = ("--passes=propagate-shardings,decompose-reshardings,fuse-allgathers,merge-collectives{always=%d},"
          "split-allreduces{always=%d;trials=%d},chunk-collectives{always=%d;trials=24;exposed=0},"
          "stream-loops{pipeline=%s},%slower-collectives{p2p=%s},%sallocate,assign-streams")
KINDS = ["layout"] * 4 + ["permute", "collective", "p2p", "p2p-put", "broadcast"]


class Transformed:
    def __init__(self, seed, number, cuda=False):
        self.r = r = random.Random("transformed %d/%d" % (seed, number))
        self.number = number
        self.flags = ["--target=cuda"] * cuda
        self.dtype = r.choice(["f32", "f32", "bf16", "f64"])
        self.shape, self.spread = {}, {}  # by value; spread: the axis that is sharded over x
        self.lines, self.last = [], []
        products = [self.row_parallel, self.column_parallel]
        for _ in range(r.randint(2, 7)):
            r.choice(products * 2 + [self.work, self.work, self.residual, self.twin, self.halves])()
        outputs = r.sample(list(self.shape), min(len(self.shape), r.choice([1, 1, 2, 3])))
        outputs += [list(self.shape)[-1]] * (list(self.shape)[-1] not in outputs)
        self.lines += ["  output %s" % v for v in outputs if not v.startswith("I")]
        if all(v.startswith("I") for v in outputs):
            self.lines.append("  output %s = neg(%s)" % (self.name("V"), outputs[0]))
        mesh = r.choice(MESHES)
        self.text = "mesh m(%s)\nprogram p on m {\n%s\n}\n" % (mesh, "\n".join(self.lines))
        always = r.choice([0, 1, 1])
        kind, _, order = r.choice(KINDS).partition("-")
        in_place, scheduled = r.choice(["", "", "zero-copy{rows=1},"]), r.choice(["", "schedule-overlap,"])
        in_place = "" if cuda else in_place
        self.chosen = [PASSES % (always, always, r.choice([0, 24, 24]), always, kind, in_place,
                                 {"p2p": order or "get"}.get(kind, "no"), scheduled)]

    def name(self, letter):
        name = "%s%d" % (letter, len(self.shape))
        self.shape[name] = ()
        return name

    def type(self, shape, spread):
        return "%s[%s]" % (self.dtype, ", ".join("%d%s" % (n, "@x" * (k == spread)) for k, n in enumerate(shape)))

    def input(self, shape, spread):
        same = [v for v in self.shape if v.startswith("I") and (self.shape[v], self.spread[v]) == (shape, spread)]
        if same and self.r.random() < 0.5:
            return self.r.choice(same)
        v = self.name("I")
        self.shape[v], self.spread[v] = shape, spread
        self.lines.append("  input %s: %s" % (v, self.type(shape, spread)))
        return v

    def define(self, text, shape, spread):
        v = self.name("V")
        self.shape[v], self.spread[v] = shape, spread
        self.lines.append("  %s: %s = %s" % (v, self.type(shape, spread), text))
        return v

    def draw(self, spread):
        """Returns a matrix with this sharding, or a new one."""
        known = [v for v in self.shape if len(self.shape[v]) == 2 and self.spread[v] == spread]
        if known and self.r.random() < 0.8:
            return self.r.choice(known[-3:])
        return self.input((self.r.choice(EXTENTS), self.r.choice(EXTENTS)), spread)

    def product(self, a, spread, result):
        k, n = self.shape[a][1], self.r.choice(EXTENTS)
        if self.r.random() < 0.5:
            b = self.input((k, n), spread)
            return self.define("matmul(%s, %s)" % (a, b), (self.shape[a][0], n), result)
        b = self.input((n, k), {0: 1, 1: 0, None: None}[spread])
        return self.define("linear(%s, %s)" % (a, b), (self.shape[a][0], n), result)

    def row_parallel(self):
        self.product(self.draw(1), 0, self.r.choice([None, None, 0, 1]))

    def column_parallel(self):
        a = self.draw(0)
        for _ in range(self.r.choice([1, 1, 2])):
            self.product(a, 1, 1)

    def work(self):
        v = self.draw(self.r.choice([None, None, 0, 1]))
        f = self.r.choice(["relu(%s)", "neg(%s)", "%s * 0.5", "%s + 1.0", "softmax(%s, axis=1)", "rmsnorm(%s)"])
        self.define(f % v, self.shape[v], self.spread[v])

    def residual(self):
        v = self.draw(None)
        other = [u for u in self.shape if self.shape[u] == self.shape[v] and self.spread[u] in (None, 0)]
        self.define("%s(%s, %s)" % (self.r.choice(["add", "sub", "maximum"]), v, self.r.choice(other)), self.shape[v],
                    self.r.choice([None, None, 0]))

    def twin(self):
        v = self.draw(self.r.choice([0, 1]))
        for _ in range(2):
            self.define("set(%s)" % v, self.shape[v], None)

    def halves(self):
        a = self.draw(1)
        v = self.product(a, 0, self.r.choice([0, 1]))
        self.define("set(%s)" % v, self.shape[v], None)

    def shown(self):
        return self.text + "# %s\n" % self.chosen[0]

    def options(self):
        return list(self.chosen)
