#!/usr/bin/env python3
"""Random programs, compared with the reference.

    programs.py --hirc build/dev/hirc --count 300          programs 0 … 299 of seed 1
    programs.py --hirc build/dev/hirc --show 17            prints program 17
    programs.py --hirc build/dev/hirc --only 17            runs it alone
    programs.py --hirc build/dev/hirc --cuda               on a GPU, which has one engine

A program has one to six operations on tensors of random shapes; each tensor has a random layout on a mesh of
one to three axes (mesh axes, blocks, up to two loops, in loops), or none. Every third is run with another kind
of pipeline, every third with zero-copy, every third in the order of schedule-overlap, with buckets that are packed
or start together, and every third with its collectives merged, split and in chunks, in two of three of these wherever
that is possible. Each is run by `hirc run --check` on threads, and `hirc check` proves that its accesses are
ordered.

Some are products and collectives as of training (transformed.py), some overwrite what they read (written.py). Some have tensors large enough that devices keep
copies of operands of products, most of them loops of products with a weight that is written now and then.

No result may be wrong and nothing may crash or hang. A program may be refused for what hirc says that it does
not do yet, in at most 3% of them.
"""
import collections
import concurrent.futures
import random
import re
import sys

import drawn
import transformed
import written

SHAPES = [(2,), (3,), (4,), (2, 2), (2, 3), (4, 2), (2, 2, 2), (1, 3)]
EXTENTS = [1, 2, 3, 4, 5, 6, 8, 9, 12]
LARGE = [64, 96, 128, 130, 160]
PRODUCTS, WRITTEN, TRANSFORMS = 0.1, 0.1, 0.12  # of programs
MOST_LARGE = 0.03
KINDS = ["permute", "collective", "p2p", "p2p-put", "broadcast"]
REFUSALS = re.compile("not executed yet|not contiguous in memory|are not made from slices|in a step of the ring"
                      "|in different blocks|nested loops|no single|layout of this pipeline")
MOST_REFUSED = 0.03
PASSES = ("--passes=propagate-shardings,decompose-reshardings,fuse-allgathers,%sstream-loops{pipeline=%s},"
          "%slower-collectives{p2p=%s},%sallocate,assign-streams")
IN_PLACE, SCHEDULED = "zero-copy{rows=1},", "schedule-overlap%s,"
BUCKETS = ["", "", "{buckets=coalesced}"]
TRANSFORMED = ["merge-collectives{always=%d},split-allreduces{always=%d;trials=20},"
               "chunk-collectives{always=%d;trials=20;exposed=0}," % (k, k, k) for k in range(2)]


class Program:
    def __init__(self, seed, number, cuda=False):
        self.r = r = random.Random("%d/%d" % (seed, number))
        self.number = number
        self.flags = ["--target=cuda"] * cuda
        large = random.Random("large %d/%d" % (seed, number)).random() < MOST_LARGE
        self.extents, ranks = (LARGE, [1, 2, 2]) if large else (EXTENTS, [1, 2, 2, 3])
        sizes = r.choice([(1,), (2,)] if large else SHAPES)
        self.axes = ["a%d" % k for k in range(len(sizes))]
        self.ranks = 1
        for n in sizes:
            self.ranks *= n
        self.dtype = r.choice(["f32", "f64", "bf16", "i32"])
        self.loops = [r.choice([2, 3, self.ranks]) for _ in range(r.choice([0, 1, 1, 2]))]
        self.pipeline = r.choice(KINDS) if r.random() < 0.33 else None
        self.in_place = random.Random("zero-copy %d/%d" % (seed, number)).random() < 0.34
        self.scheduled = random.Random("schedule %d/%d" % (seed, number)).random() < 0.34
        self.buckets = random.Random("buckets %d/%d" % (seed, number)).choice(BUCKETS)
        r = random.Random("transform %d/%d" % (seed, number))
        self.transform = r.choice(TRANSFORMED[:1] + TRANSFORMED[1:] * 2) if r.random() < 0.34 else ""
        r = self.r
        self.shape = {}
        self.lines = ["mesh m(%s)" % ", ".join("%s = %d" % x for x in zip(self.axes, sizes)), "program p on m {"]
        for _ in range(r.randint(1, 3)):
            self.input(tuple(r.choice(self.extents) for _ in range(r.choice(ranks))))
        for _ in range(r.randint(1, 6)):
            self.operation()
        last = list(self.shape)[-1]
        self.lines.append("  output Y: %s = set(%s)" % (self.type(self.shape[last]), last))
        self.text = "\n".join(self.lines) + "\n}\n"

    def shown(self):
        return self.text + "".join("# %s\n" % o for o in self.options())

    def options(self):
        if self.in_place or self.scheduled or self.transform:
            kind, _, order = (self.pipeline or "layout").partition("-")
            return [PASSES % (self.transform, kind, IN_PLACE * self.in_place, {"p2p": order or "get"}.get(kind, "no"),
                              SCHEDULED % self.buckets * self.scheduled)]
        return ["--pipeline=" + self.pipeline] if self.pipeline else []

    def type(self, shape):
        r, free, places = self.r, self.axes[:], [[] for _ in shape]
        r.shuffle(free)
        for x in free:
            if r.random() < 0.6:
                r.choice(places).append("@" + x)
        if r.random() < 0.07:
            r.choice(places).insert(0, "@block(2)")
        for n in self.loops:
            if r.random() < 0.5:
                at = r.choice(places)
                at.insert(r.randrange(len(at) + 1), "@%s(%d)" % (r.choice(["stream", "stream", "serial"]), n))
        return "%s[%s]" % (self.dtype, ", ".join("%d%s" % (n, "".join(p)) for n, p in zip(shape, places)))

    def new(self, shape):
        name = "V%d" % len(self.shape)
        self.shape[name] = shape
        return name

    def input(self, shape):
        name = self.new(shape)
        self.lines.append("  input %s: %s" % (name, self.type(shape)))
        return name

    def define(self, shape, text, state=0.6):
        name = self.new(shape)
        stated = ": " + self.type(shape) if self.r.random() < state else ""
        self.lines.append("  %s%s = %s" % (name, stated, text))

    def operation(self):
        r = self.r
        v = r.choice(list(self.shape))
        shape, k = self.shape[v], r.random()
        floating = self.dtype != "i32"
        if k < 0.35:
            self.define(shape, "%s(%s)" % (r.choice(["relu", "neg", "abs"]), v))
        elif k < 0.5:
            other = r.choice([x for x in self.shape if self.shape[x] == shape])
            self.define(shape, "%s(%s, %s)" % (r.choice(["add", "sub", "mul", "maximum"]), v, other))
        elif k < 0.6 and len(shape) > 1:
            dims = list(range(len(shape)))
            r.shuffle(dims)
            self.define(tuple(shape[d] for d in dims), "permute(%s, (%s))" % (v, ", ".join(map(str, dims))))
        elif k < 0.72 and len(shape) > 1:
            axis = r.randrange(len(shape))
            name = r.choice(["sum", "max", "min"] + (["mean"] if floating else []))
            self.define(shape[:axis] + shape[axis + 1:], "%s(%s, axis=%d)" % (name, v, axis))
        elif k < 0.84 and len(shape) == 2 and floating:
            n = r.choice([1, 2, 4, 5, 6] if self.extents is EXTENTS else LARGE)
            weight = self.input((shape[1], n))
            self.define((shape[0], n), "matmul(%s, %s)" % (v, weight))
        elif k < 0.9 and floating:
            self.define(shape, "softmax(%s, axis=%d)" % (v, r.randrange(len(shape))))
        elif k < 0.95 and len(shape) > 1:
            to = (shape[0] * shape[1],) + shape[2:]
            self.define(to, "reshape(%s, [%s])" % (v, ", ".join(map(str, to))))
        else:
            self.define(shape, "set(%s)" % v, state=1)


class Products:
    """A loop of products with slices of X; the weight B, or W, is written between some of them."""

    def __init__(self, seed, number, cuda=False):
        self.r = r = random.Random("products %d/%d" % (seed, number))
        self.number = number
        linear, dtype, ranks = r.random() < 0.5, r.choice(["bf16", "f32", "f32"]), r.choice([1, 2])
        n, k, rows, count = (r.choice(sizes) for sizes in (LARGE, LARGE, LARGE, [2, 3, 4]))
        self.weight = "%s[%d, %d]" % ((dtype, n, k) if linear else (dtype, k, n))
        self.lines = ["mesh m(x = %d)" % ranks, "program p on m {",
                      "  input X: %s[%d, %d, %d]" % (dtype, count, rows, k), "  input W: " + self.weight,
                      "  input D: " + self.weight,
                      "  output Y: %s[%d, %d, %d] = allocate(zero_init=true)" % (dtype, count, rows, n),
                      "  B: %s = allocate()" % self.weight, "  B <- %s(W)" % r.choice(["relu", "neg", "set"]),
                      "  for o in 0..%d {" % r.choice([1, 2, 3]), "    for i in 0..%d {" % count]
        self.slices("      ", "i")
        more = ", accumulate=true" if not linear and r.random() < 0.5 else ""
        self.lines.append("      C <- %s(A, %s%s)" % ("linear" if linear else "matmul", r.choice("BBW"), more))
        if r.random() < 0.15:
            self.write("      ")
        self.lines.append("    }")
        if r.random() < 0.6:
            self.write("    ")
        self.lines.append("  }")
        if r.random() < 0.5:
            self.lines += ["  A0 = select(X, axis=0, index=0)", "  output Z: %s[%d, %d] = %s(A0, %s)" % (
                dtype, rows, n, "linear" if linear else "matmul", r.choice("BBW"))]
        if r.random() < 0.3:
            self.lines.append("  W <- add(W, D)")
        self.text = "\n".join(self.lines) + "\n}\n"
        self.flags = ["--repeat=%d" % r.choice([1, 2, 3]), "--engine=" + r.choice(["inline", "lanes"])]
        if cuda:
            self.flags[1] = "--target=cuda"

    def slices(self, indent, index):
        self.lines += ["%s%s = select(%s, axis=0, index=%s)" % (indent, to, of, index) for to, of in ("AX", "CY")]

    def write(self, indent):
        self.lines.append("%sB <- %s" % (indent, self.r.choice(["add(B, D)", "sub(B, D)", "set(D)"])))

    def shown(self):
        return self.text + "".join("# %s\n" % o for o in self.flags)

    def options(self):
        return []


def draw(seed, number, cuda=False):
    kind = random.Random("kind %d/%d" % (seed, number)).random()
    drawn_from = (Products if kind < PRODUCTS else written.Written if kind < PRODUCTS + WRITTEN
                  else transformed.Transformed if kind > 1 - TRANSFORMS else Program)
    return drawn_from(seed, number, cuda)


def command(hirc, verb, program):
    options = program.options()
    if verb == "run":
        options += ["--bootstrap=thread", "--check"] + program.flags
    code, out, err = drawn.call([hirc, verb, "-"] + options, program.text)
    return code, out + err


def run(hirc, program):
    """Returns the problem (None: the run is right) and its text."""
    code, text = command(hirc, "run", program)
    if code == 0:
        code, text = command(hirc, "check", program)
        if code:
            return "not proved", text
        return None, ""
    if code == 1 and REFUSALS.search(text):
        return "refused", text
    return "wrong" if code == 3 else "failed (exit %d)" % code, text


def main():
    args = drawn.options(__doc__, 300, lambda seed, number: draw(seed, number).shown(),
                         ("--cuda", "run them on a GPU"))
    programs = [draw(args.seed, k, args.cuda) for k in args.numbers]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda p: run(args.hirc, p), programs))
    counts = collections.Counter(kind for kind, _ in results)
    shown = collections.Counter()
    for program, (kind, text) in zip(programs, results):
        shown[kind] += 1
        if kind and (kind != "refused" or args.only is not None) and shown[kind] <= 10:
            found = re.search(r"(error|wrong)\b.*", text)
            print("program %d %s: %s" % (program.number, kind, found.group(0) if found else text[:200]))
    print("%d programs, %s" % (len(results), ", ".join("%d %s" % (n, k or "right") for k, n in sorted(
        counts.items(), key=lambda x: str(x[0])))))
    bad = sum(n for k, n in counts.items() if k not in (None, "refused"))
    return 1 if bad or counts["refused"] > MOST_REFUSED * len(results) + 1 else 0


if __name__ == "__main__":
    sys.exit(main())
