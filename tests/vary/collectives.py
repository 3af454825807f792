#!/usr/bin/env python3
"""Random programs of several collectives, in buckets that are packed or start together, or in groups of the source.

    collectives.py --hirc build/dev/hirc --count 60      programs 0 … 59 of seed 1
    collectives.py --hirc build/dev/hirc --show 17       prints program 17
    collectives.py --hirc build/dev/hirc --only 17       runs it alone

A collective makes its result, writes a buffer of the source or a part of one, or works in place; its operand is an
input, a buffer, or a part of one, of any dtype and of a shape that packs or not. Each program is compared with the
reference, but for bf16 exactly, and its accesses are proven to be ordered. In all programs together there must be
buckets and groups.
"""
import random
import sys

import drawn


class Program:
    def __init__(self, seed, number):
        self.r = r = random.Random("%d/%d" % (seed, number))
        self.ranks = r.choice([1, 2, 2, 4, 4, 8])
        self.mode = r.choice(["pack", "coalesced", "coalesced", "source", "none"])
        self.effort = r.choice([0, 1, 2, 3, 3])
        self.kinds = r.choices(["allgather", "allgather", "allreduce", "reduce_scatter"], k=r.randint(1, 2))
        self.dtypes = r.choices(["f32", "f32", "bf16", "f64", "i32"], k=r.randint(1, 2))
        self.cluster = r.choice(["cpu", "h100"])
        self.start = r.choice(["thread", "thread", "fork"])
        self.engine = r.choice(["inline", "inline", "lanes"])
        self.before, self.comms, self.waits, self.after = [], [], [], []
        for k in range(r.randint(2, 8)):
            self.collective(k)
        lines = ["mesh m(x = %d)" % self.ranks, "program drawn on m {", "  input X: f32[32, 32]"] + self.before
        if self.mode == "source":
            lines += ["  start_coalescing()"] + self.comms + ["  end_coalescing() as e"]
            self.waits = ["  wait(e)"]
        elif r.random() < 0.5:
            lines += [x for pair in zip(self.comms, self.waits) for x in pair]
            self.waits = []
        else:
            lines += self.comms
        lines.append("  Y: f32[32, 32] = matmul(X, X)")
        lines += self.waits + self.after + ["  output Z = neg(Y)", "}"]
        self.text = "\n".join(lines) + "\n"

    def operand(self, k, kind, dtype, shape, place):
        """Returns an operand of this shape: an input, a buffer, or a slice of one."""
        r, types = self.r, [str(n) for n in shape]
        types[place] += "@x" if kind == "allgather" else ""
        partial = " partial(x)" if kind == "reduce_scatter" or (kind == "allreduce" and r.random() < 0.5) else ""
        if r.random() < 0.4:
            self.before.append("  input A%d: %s[%s]%s" % (k, dtype, ", ".join(types), partial))
            return "A%d" % k, partial
        if r.random() < 0.5:
            self.before += ["  A%d: %s[%s]%s = allocate()" % (k, dtype, ", ".join(types), partial),
                            "  A%d <- full(%d)" % (k, r.randint(-3, 3))]
            return "A%d" % k, partial
        self.before += ["  input V%d: %s[%s]%s" % (k, dtype, ", ".join(["3"] + types), partial),
                        "  A%d = select(V%d, axis=0, index=%d)" % (k, k, r.randint(0, 2))]
        return "A%d" % k, partial

    def collective(self, k):
        r, n = self.r, self.ranks
        kind, dtype = r.choice(self.kinds), r.choice(self.dtypes)
        shape = [r.choice([1, 2, 3]) * n] + [r.choice([1, 2, 5]) * n for _ in range(r.choice([0, 0, 1]))]
        place = 0
        if r.random() < 0.1:
            shape[0] += 1
        a, partial = self.operand(k, kind, dtype, shape, place)
        to = [str(m) for m in shape]
        to[place] += "@x" if kind == "reduce_scatter" else ""
        to, how = "%s[%s]" % (dtype, ", ".join(to)), ""
        if kind == "allreduce" and not partial:
            how = ", op=max"
        own = "%s(%s, axis=x%s)" % (kind, a, how)
        form = r.random()
        name = "B%d" % k
        if form < 0.25:
            self.before.append("  B%d: %s = allocate()" % (k, to))
            left = "B%d <- " % k
        elif form < 0.45:
            self.before += ["  W%d: %s = allocate()" % (k, to.replace("[", "[2, ")), "  W%d <- full(7)" % k,
                            "  B%d = select(W%d, axis=0, index=%d)" % (k, k, r.randint(0, 1))]
            left, name = "B%d <- " % k, "W%d" % k
        elif form < 0.65 and kind == "allreduce" and not partial and any(
                x.startswith("  A%d <-" % k) for x in self.before):
            left, name = "A%d <- " % k, "A%d" % k
        else:
            left = "B%d: %s = " % (k, to)
        self.comms.append("  %s%s%s" % (left, own, "" if self.mode == "source" else " as c%d" % k))
        self.waits.append("  wait(c%d)" % k)
        self.after.append("  output C%d = neg(%s)" % (k, name))

    def command(self, verb, buckets):
        return [verb, "-", "--passes=propagate-shardings,schedule-overlap{effort=%d,buckets=%s},allocate" % (
            self.effort, buckets), "--cluster=" + self.cluster]


def wrong(hirc, program, found):
    mode = "none" if program.mode == "source" else program.mode
    code, text, err = drawn.call([hirc] + program.command("compile", mode) + ["--dump=hir"], program.text)
    if code:
        return err[-600:]
    found[0] += text.count("unpack(")
    found[1] += program.mode == "coalesced" and text.count("start_coalescing()")
    run = [hirc, "run", "-", "--bootstrap=" + program.start, "--engine=" + program.engine, "--check", "--np=%d" %
           program.ranks]
    for command, source in ((run, text), (run + ["--transport=shm", "--repeat=3"], text),
                            ([hirc] + program.command("check", mode), program.text)):
        code, out, err = drawn.call(command, source)
        if code or (command[1] == "run" and "(exact)" not in out and "bf16" not in text):
            return (out + err)[-600:]
    return None


def main():
    o = drawn.options(__doc__, 60, lambda seed, number: Program(seed, number).text)
    found = [0, 0]
    failed = drawn.take(o, Program, lambda hirc, program: wrong(hirc, program, found))
    print("%d programs, %d wrong; %d packed buckets, %d groups" % (len(o.numbers), failed, *found))
    if o.only is None and not failed and min(found) < o.count / 20:
        print("wrong: too few buckets")
        failed = 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
