#!/usr/bin/env python3
"""Random operations on random layouts, run with --check.

Each program is one operation (a reshape, reduction, select, batched matmul or addition with axes of extent 1)
whose operands and result have layouts of their own: placements on one or two mesh axes, stream loops, and splits
that no placement says. A program that fails is printed; its number and the seed make it again.
"""
import os
import random
import sys

import drawn


class Maker:
    """One program, drawn from a source of random numbers."""

    def __init__(self, draw):
        self.draw = draw
        self.axes = ["y", "x"] if draw.random() < 0.5 else ["x"]
        self.dtype = draw.choice(["f32", "i32", "bf16"])
        self.lines = []

    def declare(self, word, name, shape, value="", loops=True):
        """Declares a tensor with its own layout."""
        draw = self.draw
        even = [k for k, extent in enumerate(shape) if extent >= 4 and extent % 2 == 0]
        if even and draw.random() < 0.15:
            k = draw.choice(even)
            self.lines.append(f"{word} {name}: {self.dtype}[{', '.join(map(str, shape))}]{value}")
            self.lines.append(f"schedule {name} {{ split {k} inner 2; parallelize {k + 1} x }}")
            return
        free, axes, loop = list(self.axes), [], loops and draw.random() < 0.25
        for extent in shape:
            text = str(extent)
            while free and draw.random() < 0.35:
                text += "@" + free.pop(draw.randrange(len(free)))
            if loop and draw.random() < 0.4:
                text += f"@stream({draw.choice([2, 3])})"
                loop = False
            axes.append(text)
        self.lines.append(f"{word} {name}: {self.dtype}[{', '.join(axes)}]{value}")

    def shape(self, rank):
        return [self.draw.choice([1, 2, 3, 4, 6]) for _ in range(rank)]

    def factors(self, product):
        """Returns a shape with this number of elements, with some axes of extent 1."""
        shape = []
        while product > 1:
            shape.append(self.draw.choice([k for k in range(2, product + 1) if product % k == 0]))
            product //= shape[-1]
        self.draw.shuffle(shape)
        for _ in range(self.draw.choice([0, 1, 1, 2])):
            shape.insert(self.draw.randint(0, len(shape)), 1)
        return shape

    def reshape(self):
        product = self.draw.choice([8, 12, 24, 36])
        to = self.factors(product)
        self.declare("input", "X", self.factors(product), loops=False)
        self.declare("output", "Y", to, f" = reshape(X, {to})", loops=False)

    def reduction(self):
        shape = self.shape(self.draw.choice([2, 3, 4]))
        axes = sorted(self.draw.sample(range(len(shape)), self.draw.choice([1, 1, 2])))
        word = self.draw.choice(["sum", "max"] if self.dtype == "bf16" else ["sum", "max", "min", "prod"])
        axis = axes[0] if len(axes) == 1 else f"({axes[0]}, {axes[1]})"
        self.declare("input", "X", shape)
        operand = "X"
        if self.draw.random() < 0.5:
            self.lines.append("A = X + X")
            operand = "A"
        rest = [extent for k, extent in enumerate(shape) if k not in axes]
        self.declare("output", "Y", rest, f" = {word}({operand}, axis={axis})")

    def select(self):
        """Selects along an axis that each rank holds whole."""
        shape, axis = self.shape(3), self.draw.randrange(3)
        spread = self.draw.choice([k for k in range(3) if k != axis])
        text = ", ".join(f"{extent}@x" if k == spread else str(extent) for k, extent in enumerate(shape))
        self.lines.append(f"input X: {self.dtype}[{text}]")
        rest = [extent for k, extent in enumerate(shape) if k != axis]
        self.declare("output", "Y", rest, f" = select(X, axis={axis}, index={self.draw.randrange(shape[axis])})")

    def matmul(self):
        draw = self.draw
        batch = [draw.choice([2, 4]), draw.choice([1, 3])]
        m, k, n = (draw.choice([1, 2, 4, 6]) for _ in range(3))
        a = [draw.choice([1, extent]) for extent in batch]
        b = [draw.choice([1, extent]) for extent in batch][draw.choice([0, 0, 1, 2]):]
        wide = [1] * (2 - len(b)) + b
        self.declare("input", "A", a + [m, k])
        self.declare("input", "B", b + [k, n])
        self.declare("output", "Y", [max(p, q) for p, q in zip(a, wide)] + [m, n], " = matmul(A, B)")

    def addition(self):
        shape = self.shape(3)
        other = [extent if self.draw.random() < 0.5 else 1 for extent in shape][self.draw.choice([0, 0, 1]):]
        self.declare("input", "A", shape)
        self.declare("input", "B", other)
        self.declare("output", "Y", shape, " = A + B")

    def program(self):
        self.draw.choice([self.reshape, self.reduction, self.select, self.matmul, self.addition])()
        sizes = ", ".join(f"{axis} = 2" for axis in self.axes)
        return "\n".join([f"mesh m({sizes})", "program p on m {"] + ["  " + line for line in self.lines] + ["}", ""])


def program(seed, number):
    return Maker(random.Random(f"{seed} {number}")).program()


def main():
    options = drawn.options(__doc__, 100, program)
    os.environ.update(OPENBLAS_NUM_THREADS="1", NO_COLOR="1")
    failed = 0
    for number in options.numbers:
        text = program(options.seed, number)
        code, out, err = drawn.call([options.hirc, "run", "-", "--check"], text)
        if code:
            failed += 1
            print(f"program {number} of seed {options.seed}: exit code {code}\n{text}{out}{err}")
    print(f"{options.count} programs, {failed} failed")
    sys.exit(1 if failed else 0)


main()
