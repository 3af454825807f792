#!/usr/bin/env python3
"""Random programs of loops and conditions with collectives, in the order of schedule-overlap.

    blocks.py --hirc build/dev/hirc --count 60          programs 0 … 59 of seed 1
    blocks.py --hirc build/dev/hirc --show 17           prints program 17
    blocks.py --hirc build/dev/hirc --only 17           runs it alone

Statements compute, write buffers that carry values from iteration to iteration, and gather and add up over the ranks;
waits come at once, later in the block, or in the next iteration. Each program is compared with the reference, and
its accesses are proven to be ordered. A third may not take more memory than before, in any of their blocks. In all
programs together blocks within the program's must be faster than before, and have buckets.
"""
import random
import re
import sys

import drawn

CLUSTERS = ["cpu", "h100"]
LINE = re.compile(r"^schedule-overlap: (an iteration[^:]*: |a block[^:]*: )?([\d.]+) [mu]s instead of ([\d.]+),"
                  r".* at most (\d+) bytes live instead of (\d+); (\d+) buckets?")


class Program:
    def __init__(self, seed, number):
        self.r = r = random.Random("%d/%d" % (seed, number))
        self.ranks = r.choice([1, 2, 2, 4, 4, 8])
        self.tight = r.random() < 0.34
        self.options = "effort=%d,buckets=%s%s" % (r.randint(0, 3), r.choice(["pack", "coalesced", "none"]),
                                                  ",memory_increase=0,memory_percent=0" * self.tight)
        self.cluster = r.choice(CLUSTERS)
        self.next = 0
        self.inputs = r.randint(2, 4)
        self.buffers = ["B%d" % k for k in range(r.randint(2, 3))]
        self.lines = ["mesh m(x = %d)" % self.ranks, "program drawn on m {"]
        for k in range(self.inputs):
            self.lines += ["  input A%d: f32[16@x, 4]" % k, "  input X%d: f32[16, 4]" % k]
        for b in self.buffers:
            self.lines += ["  output %s: f32[16, 4] = allocate()" % b, "  %s <- full(%d.0)" % (b, r.randint(-2, 2))]
        self.block(1, ["X%d" % k for k in range(self.inputs)], None)
        self.lines.append("}")
        self.text = "\n".join(self.lines) + "\n"

    def new(self, letter):
        self.next += 1
        return "%s%d" % (letter, self.next)

    def put(self, depth, text):
        self.lines.append("  " * depth + text)

    def communicate(self, depth, waiting):
        """Adds a collective. If the product's operands are sharded, the sum over all ranks."""
        value, name, a = self.new("G"), self.new("c"), self.r.randrange(self.inputs)
        if self.r.random() < 0.6:
            self.put(depth, "%s: f32[16, 4] = allgather(A%d, axis=x) as %s" % (value, a, name))
            waiting.append((name, value))
            return
        part, square = self.new("P"), self.new("Q")
        self.put(depth, "T%s: f32[4, 16@x] = permute(A%d, (1, 0))" % (part, a))
        self.put(depth, "%s: f32[4, 4] partial(x) = matmul(T%s, A%d)" % (part, part, self.r.randrange(self.inputs)))
        self.put(depth, "%s: f32[4, 4] = allreduce(%s, axis=x) as %s" % (square, part, name))
        waiting.append((name, (square, value)))

    def wait(self, depth, waiting, known):
        name, value = waiting.pop(self.r.randrange(len(waiting)))
        self.put(depth, "wait(%s)" % name)
        if isinstance(value, tuple):
            square, value = value
            self.put(depth, "%s: f32[16, 4] = linear(X0, %s)" % (value, square))
        known.append(value)

    def compute(self, depth, known):
        r, value = self.r, self.new("V")
        a, b = r.choice(known + self.buffers), r.choice(known)
        how = r.choice(["%s + %s" % (a, b), "maximum(%s, %s)" % (a, b), "relu(%s)" % a])
        self.put(depth, "%s: f32[16, 4] = %s" % (value, how))
        known.append(value)

    def write(self, depth, known):
        r, buffer = self.r, self.r.choice(self.buffers)
        value = r.choice(known)
        self.put(depth, r.choice(["%s <- add(%s, %s)" % (buffer, buffer, value), "%s <- neg(%s)" % (buffer, value),
                                  "%s <- maximum(%s, %s)" % (buffer, r.choice(self.buffers), value)]))

    def loop(self, depth, known):
        index = self.new("i")
        ahead = self.r.random() < 0.3
        late, name = self.new("L"), self.new("c")
        if ahead:
            self.put(depth, "%s: f32[16, 4] = allocate()" % late)
        self.put(depth, "for %s in 0..%d {" % (index, self.r.randint(1, 3)))
        if ahead:
            self.put(depth + 1, "if %s > 0 {" % index)
            self.put(depth + 2, "wait(%s)" % name)
            self.put(depth + 2, "%s <- add(%s, %s)" % (self.buffers[0], self.buffers[0], late))
            self.put(depth + 1, "}")
        self.block(depth + 1, known, index)
        if ahead:
            self.put(depth + 1, "%s <- allgather(A0, axis=x) as %s" % (late, name))
        self.put(depth, "}")
        if ahead:
            self.put(depth, "wait(%s)" % name)
            self.put(depth, "%s <- add(%s, %s)" % (self.buffers[-1], self.buffers[-1], late))

    def condition(self, depth, known, index):
        self.put(depth, "if %s {" % self.r.choice(["%s %% 2 == 0", "%s > 0", "%s < 2"]) % index)
        self.block(depth + 1, known, index)
        if self.r.random() < 0.5:
            self.put(depth, "} else {")
            self.block(depth + 1, known, index)
        self.put(depth, "}")

    def block(self, depth, known, index):
        r, known, waiting = self.r, list(known), []
        for _ in range(r.randint(4, 9)):
            kind = r.random()
            if kind < 0.3:
                self.communicate(depth, waiting)
            elif kind < 0.5 and waiting:
                self.wait(depth, waiting, known)
            elif kind < 0.7:
                self.compute(depth, known)
            elif kind < 0.85:
                self.write(depth, known)
            elif depth < 4 and kind < 0.93:
                self.loop(depth, known)
            elif depth < 4 and index:
                self.condition(depth, known, index)
        while waiting:
            self.wait(depth, waiting, known)
            self.write(depth, known)

    def command(self, verb):
        return [verb, "-", "--passes=propagate-shardings,schedule-overlap{%s},allocate,assign-streams" % self.options,
                "--cluster=" + self.cluster]


def wrong(hirc, program, gained):
    for command in (program.command("run") + ["--check", "--bootstrap=thread", "--remarks"],
                    program.command("check") + ["--strict"]):
        code, out, err = drawn.call([hirc] + command, program.text)
        if code:
            return (out + err)[-600:]
        if command[0] == "run":
            blocks = [x.groups() for x in map(LINE.search, err.splitlines()) if x]
            if program.tight and any(int(b[3]) > int(blocks[0][4]) for b in blocks):
                return "more memory than before: " + err
            gained[0] += sum(float(b[1]) < float(b[2]) for b in blocks if b[0])
            gained[1] += sum(int(b[5]) for b in blocks if b[0])
    return None


def main():
    o = drawn.options(__doc__, 60, lambda seed, number: Program(seed, number).text)
    gained = [0, 0]
    failed = drawn.take(o, Program, lambda hirc, program: wrong(hirc, program, gained))
    print("%d programs, %d wrong; within them %d blocks are faster, with %d buckets" % (o.count, failed, *gained))
    if o.only is None and not failed and (gained[0] < o.count / 2 or gained[1] < o.count / 10):
        print("wrong: too little is gained")
        failed = 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
