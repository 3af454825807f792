#!/usr/bin/env python3
"""Draws programs of pointwise operations and reductions and checks that fusing them changes no bit.

    units.py --hirc build/dev/hirc --count 60         programs 0 … 59 of seed 1
    units.py --hirc build/dev/hirc --show 17          prints program 17
    units.py --hirc build/dev/hirc --only 17          runs it alone

Shapes are small and long, empty ones too, dtypes all that have arithmetic, layouts split over ranks and stream
loops. Each program runs with --fuse-pointwise and with =no on threads: the outputs are the same bytes, and those of
the reference. In all programs together a unit must take the place of two operations or more on average.
"""
import pathlib
import random
import sys
import tempfile

import drawn

FLOATS = ["f32", "bf16", "f16", "f64"]
INTEGERS = ["i32", "i64", "i8", "u8"]
ANY_UNARY = ["neg", "abs", "relu"]
FLOAT_UNARY = ["exp", "gelu", "gelu_tanh", "sin", "sigmoid", "tanh"]


class Program:
    def __init__(self, number, seed):
        self.r = r = random.Random("%d/%d" % (seed, number))
        self.ranks = r.choice([1, 2, 3, 4])
        self.dtype = r.choice(FLOATS + FLOATS + INTEGERS)
        self.extents = [r.choice([1, 2, 3, 5, 7, 8, 16, 33, 130]) for _ in range(r.randint(1, 3))]
        if r.random() < 0.15:
            self.extents[r.randrange(len(self.extents))] = r.choice([5000, 2049, 0])
        axes = list(range(len(self.extents)))
        self.split = r.choice([None] + axes)  # sharded axis
        self.stream = r.choice([None, None, None] + [a for a in axes if self.extents[a] > 1])
        self.values = ["X%d" % k for k in range(r.randint(1, 3))]
        self.lines = ["input %s: %s" % (x, self.type()) for x in self.values]
        self.lines.append("input B: %s[%d]" % (self.dtype, self.extents[-1]))
        self.outputs = []
        last = r.randint(1, 7)
        for k in range(last + 1):
            self.statement("V%d" % k, k == last)

    def type(self):
        axes = ["%d%s%s" % (e, "@stream(2)" if a == self.stream else "", "@x" if a == self.split else "")
                for a, e in enumerate(self.extents)]
        return "%s[%s]" % (self.dtype, ", ".join(axes))

    def expression(self):
        r, floats = self.r, self.dtype in FLOATS
        a, b, c = (r.choice(self.values) for _ in range(3))
        return r.choice([
            "%s(%s)" % (r.choice(ANY_UNARY + floats * FLOAT_UNARY), a),
            "%s %s %s" % (a, r.choice("+-*"), b),
            "%s %s B" % (a, r.choice("+-*")),
            "%s %s %d%s" % (a, r.choice("+-*"), r.randint(1, 3), ".0" if floats else ""),
            "maximum(%s, %s)" % (a, b),
            "where(%s > %s, %s, %s)" % (a, b, c, a),
        ])

    def statement(self, name, last):
        r = self.r
        output = last or r.random() < 0.25
        self.lines.append("%s%s: %s = %s" % ("output " if output else "", name, self.type(), self.expression()))
        self.values.append(name)
        self.outputs += [name] if output else []
        axes = [a for a in range(len(self.extents)) if a not in (self.split, self.stream)]
        if not axes or r.random() > 0.2:
            return
        over = sorted(r.sample(axes, r.randint(1, len(axes))))
        kind = r.choice(["sum", "max", "min"] + ["prod"] * (self.dtype in FLOATS))
        self.lines.append("output S%s = %s(%s, axis=(%s))" % (name, kind, name, ", ".join(map(str, over))))
        self.outputs.append("S" + name)

    def text(self):
        return "mesh m(x = np)\nprogram drawn on m {\n  %s\n}\n" % "\n  ".join(self.lines)


def run(hirc, program, folder, *options):
    """Returns the outputs as bytes; or the text of the error."""
    files = [folder / (name + ".npy") for name in program.outputs]
    code, _, err = drawn.call([hirc, "run", "-", "--np=%d" % program.ranks, "--bootstrap=thread", *options,
                               *("--output=%s=%s" % x for x in zip(program.outputs, files))], program.text())
    return err[-1000:] if code else [f.read_bytes() for f in files]


def units(hirc, program):
    _, _, err = drawn.call([hirc, "compile", "-", "--np=%d" % program.ranks, "--fuse-pointwise", "--remarks"],
                           program.text())
    counts = [int(line.split()[1]) for line in err.splitlines() if " are a unit" in line]
    return len(counts), sum(counts)


def wrong(hirc, program):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = run(hirc, program, folder, "--fuse-pointwise=no")
        fused = run(hirc, program, folder, "--fuse-pointwise", "--check")
    if isinstance(plain, str) or isinstance(fused, str):
        return "failed: %s" % [x for x in (plain, fused) if isinstance(x, str)]
    differ = [n for n, a, b in zip(program.outputs, plain, fused) if a != b]
    return "fusing changes %s" % ", ".join(differ) if differ else None


def main():
    o = drawn.options(__doc__, 60, lambda seed, number: Program(number, seed).text())
    failed = made = operations = 0
    for number in o.numbers:
        program = Program(number, o.seed)
        why = wrong(o.hirc, program)
        n, of = units(o.hirc, program)
        made, operations = made + n, operations + of
        if why:
            failed += 1
            print("program %d (--show %d): %s" % (number, number, why))
    print("%d programs, %d wrong; %d units of %d operations" % (o.count, failed, made, operations))
    if o.only is None and not failed and (made * 2 < o.count or operations < made * 2):
        print("wrong: too little is fused")
        failed = 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
