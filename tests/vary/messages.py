#!/usr/bin/env python3
"""Random programs of loops, streams and messages, of which all parts of hirc must say the same.

    messages.py --hirc build/dev/hirc --count 300     programs 0 … 299 of seed 1
    messages.py --hirc build/dev/hirc --show 17       prints program 17

A program has one to four sections, each of which makes a tensor of one that was made before: rings of send and recv,
shifts to a neighbour, a broadcast or reduction in each step of a loop, products that add up, rows and blocks in loops
of streams, and sets to another layout or mesh.

`check` and `run --check` must both accept a program, or refuse it with the same number, under random options. What
`compile --dump` prints must be read as the same program, which must run.
"""
import collections
import random
import re
import sys

import drawn

OPTIONS = [[], [], ["--effort=1"], ["--effort=2"], ["--zero-copy"], ["--fuse-pointwise"], ["--pipeline=p2p"],
           ["--pipeline=collective"], ["--pipeline=broadcast"], ["--pipeline=permute"], ["--inter-stream-sync"],
           ["--offset-streams"]]
MOST_REFUSED = 0.05
POINTWISE = ["relu(%s)", "neg(%s)", "abs(%s)", "%s * 0.5", "%s + 1.0"]


class Program:
    def __init__(self, seed, number):
        self.r = r = random.Random("messages %d/%d" % (seed, number))
        self.n = r.choice([2, 2, 3, 4])
        self.rows, self.columns = self.n * r.choice([1, 2, 3]), r.choice([1, 2, 4])
        self.dtype = r.choice(["f32", "f32", "f64", "bf16", "i32"])
        self.pointwise = POINTWISE[:3] if self.dtype == "i32" else POINTWISE
        self.two = r.random() < 0.25
        self.lines = ["mesh m(x = %d)" % self.n]
        if self.two:
            devices = list(range(self.n))
            r.shuffle(devices)
            self.lines.append("mesh w(z) = {%s}" % (" ".join(map(str, devices))))
        self.lines += ["program p on m {", "  input X0: %s" % self.type("@x")]
        self.values = [("X0", "@x")]
        self.count = 0
        self.streams = False
        for _ in range(r.randint(1, 4)):
            r.choice([self.ring, self.ring, self.shift, self.stepwise, self.blocks, self.relayout, self.whole,
                      self.added])()
        outputs = r.sample(self.values[1:], min(len(self.values) - 1, 2)) or self.values
        self.lines += ["  output %s" % name for name, _ in outputs] + ["}"]
        self.text = "\n".join(self.lines) + "\n"
        self.options = r.choice(OPTIONS)
        self.refused = None  # the number of the error, if hirc refuses it

    def type(self, first, second=""):
        return "%s[%d%s, %d%s]" % (self.dtype, self.rows, first, self.columns, second)

    def put(self, depth, *lines):
        self.lines += ["  " * depth + line for line in lines]

    def new(self, kind="V"):
        self.count += 1
        return "%s%d" % (kind, self.count)

    def pick(self, place):
        """Returns a tensor with a place of its rows; sets one to it if there is none."""
        found = [name for name, at in self.values if at == place]
        if found:
            return self.r.choice(found)
        name, made = self.values[-1][0], self.new()
        self.put(1, "%s: %s = set(%s)" % (made, self.type(place), name))
        self.values.append((made, place))
        return made

    def main(self):
        if not self.streams:
            self.put(1, "main = get_current_stream()")
        self.streams = True

    def ring(self):
        """All ranks get all blocks, one in each step."""
        r, n, made = self.r, self.n, self.new()
        x, size = self.pick("@x"), self.rows // n
        whole, i = self.new("B"), self.new("i")
        parallel = r.random() < 0.5
        self.put(1, "%s: %s[%d, %d, %d] = allocate()" % (whole, self.dtype, n, size, self.columns))
        if parallel:
            self.main()
        self.put(1, "for %s in 0..%d%s {" % (i, n, " parallel(stream)" * parallel))
        if parallel:
            self.put(2, "set_stream(%s)" % i, "synchronize(main)")
        own = "axis_index(x)"
        back, ahead = "(%s + %d - %s) %% %d" % (own, n, i, n), "(%s + %s) %% %d" % (own, i, n)
        to, source = r.choice([(back, ahead), (ahead, back)])
        self.put(2, "b%s = select(%s, axis=0, index=%s)" % (i, whole, source))
        message = ["send(%s, peer=device(x, %s)) as s%s" % (x, to, i),
                   "recv(b%s, peer=device(x, %s)) as r%s" % (i, source, i)]
        waits = ["wait(s%s)" % i, "wait(r%s)" % i]
        r.shuffle(message)
        r.shuffle(waits)
        if r.random() < 0.3:
            message = ["start_coalescing()", *(line.split(" as ")[0] for line in message), "end_coalescing() as e%s" % i]
            waits = ["wait(e%s)" % i]
        self.put(2, *message, *waits)
        if r.random() < 0.4:
            self.put(2, "b%s <- %s" % (i, r.choice(self.pointwise) % ("b%s" % i)))
        self.put(1, "}")
        if parallel:
            self.join()
        self.put(1, "%s = reshape(%s, [%d, %d])" % (made, whole, self.rows, self.columns))
        self.values.append((made, ""))

    def join(self):
        i = self.new("k")
        self.put(1, "set_stream(main)", "for %s in 0..%d {" % (i, self.n), "  synchronize(%s)" % i, "}")

    def shift(self):
        """Each rank gives its block to a neighbour, some times."""
        r, n, made = self.r, self.n, self.new()
        x, far = self.pick("@x"), r.randrange(1, n) if n > 1 else 0
        other = self.new("C")
        self.put(1, "%s: %s = allocate()" % (made, self.type("@x")), "%s: %s = allocate()" % (other, self.type("@x")),
                 "%s <- set(%s)" % (made, x))
        i = self.new("i")
        self.put(1, "for %s in 0..%d {" % (i, r.randint(1, 3)))
        self.put(2, "recv(%s, peer=(axis_index(x) + %d) %% %d, by_place=true) as r%s" % (other, n - far, n, i),
                 "send(%s, peer=(axis_index(x) + %d) %% %d) as s%s" % (made, far, n, i), "wait(r%s)" % i,
                 "wait(s%s)" % i, "%s <- %s" % (made, r.choice(self.pointwise) % other))
        self.put(1, "}")
        self.values.append((made, "@x"))

    def stepwise(self):
        """A loop of streams, in each step of which one rank broadcasts its block."""
        r, n, made = self.r, self.n, self.new()
        x, i = self.pick("@x"), self.new("i")
        self.main()
        kind = self.type("@stream(%d)" % n)
        self.put(1, "%s: %s = allocate()" % (made, kind), "for %s in 0..%d parallel(stream) {" % (i, n))
        self.put(2, "set_stream(%s)" % i, "synchronize(main)", "g%s: %s = allocate()" % (i, kind),
                 "g%s <- broadcast_from(%s, axis=x, root=%s) as c%s" % (i, x, i, i), "wait(c%s)" % i,
                 "y%s = shard_by_stream(%s, %s)" % (i, made, i),
                 "y%s <- %s" % (i, r.choice(self.pointwise) % ("g%s" % i)))
        if r.random() < 0.5:
            self.put(2, "deallocate(g%s)" % i)
        self.put(1, "}")
        self.join()
        self.values.append((made, "@stream(%d)" % n))

    def blocks(self):
        """A loop over blocks of rows, or over columns, of a whole tensor."""
        r, made, i = self.r, self.new(), self.new("i")
        x = self.pick("")
        self.put(1, "%s: %s = allocate()" % (made, self.type("")))
        axis, extent = r.choice([(0, self.rows), (1, self.columns)])
        at = r.choice([i, "%d - %s" % (extent - 1, i), "(%s + 1) %% %d" % (i, extent)])
        self.put(1, "for %s in 0..%d {" % (i, extent), "  a%s = select(%s, axis=%d, index=%s)" % (i, x, axis, at),
                 "  o%s = select(%s, axis=%d, index=%s)" % (i, made, axis, i),
                 "  o%s <- %s" % (i, r.choice(self.pointwise) % ("a%s" % i)), "}")
        self.values.append((made, ""))

    def relayout(self):
        name, made, place = self.r.choice(self.values)[0], self.new(), self.r.choice(["@x", ""])
        if self.two and self.r.random() < 0.6:
            between = self.new("M")
            self.put(1, "%s: %s on w = set(%s)" % (between, self.type(self.r.choice(["@z", ""])), name))
            name = between
        self.put(1, "%s: %s = set(%s)" % (made, self.type(place), name))
        self.values.append((made, place))

    def whole(self):
        name, place = self.r.choice(self.values)
        same = [v for v, at in self.values if at == place]
        made = self.new()
        if self.r.random() < 0.5:
            self.put(1, "%s = %s" % (made, self.r.choice(self.pointwise) % name))
        else:
            self.put(1, "%s = %s(%s, %s)" % (made, self.r.choice(["add", "sub", "maximum"]), name, self.r.choice(same)))
        self.values.append((made, place))

    def added(self):
        """A sum over steps, each of one row that all ranks have."""
        made, i, x = self.new(), self.new("i"), self.pick("")
        total = self.new("S")
        self.put(1, "%s: %s[%d] = allocate(zero_init=true)" % (total, self.dtype, self.columns),
                 "for %s in 0..%d {" % (i, self.rows), "  a%s = select(%s, axis=0, index=%s)" % (i, x, i),
                 "  %s <- add(%s, a%s)" % (total, total, i), "}",
                 "%s: %s = broadcast(%s, [%d, %d])" % (made, self.type(""), total, self.rows, self.columns))
        self.values.append((made, ""))


def code(text):
    found = re.search(r"error.*\[(E\d+)\]", text)
    return found.group(1) if found else ""


def wrong(hirc, program):
    def call(verb, *words, text=program.text):
        return drawn.call([hirc, verb, "-", *words], text)
    o = program.options
    refused, _, why = call("check", *o)
    ran, out, said = call("run", "--check", "--bootstrap=thread", *o)
    if refused not in (0, 1) or ran not in (0, 1) or refused != ran or code(why) != code(said):
        return "%s: check %d %s, run %d %s\n%s" % (o, refused, code(why), ran, code(said), why + out + said)
    if refused:
        program.refused = code(why)
        return None
    for dump in ("--dump", "--dump=hir"):
        _, text, _ = call("compile", dump, *o)
        again, same, why = call("compile", dump, "--passes=", text=text)
        if again or same != text:
            return "%s: %s is not read as it was printed: %d\n%s" % (o, dump, again, why)
        ran, out, said = call("run", "--check", "--bootstrap=thread", "--passes=", text=text)
        if ran:
            return "%s: what %s prints does not run: %d\n%s" % (o, dump, ran, out + said)
    return None


def main():
    o = drawn.options(__doc__, 40, lambda seed, number: Program(seed, number).text)
    refused = collections.Counter()

    def judge(hirc, program):
        why = wrong(hirc, program)
        refused[program.refused] += 1
        return why
    failed = drawn.take(o, Program, judge)
    del refused[None]
    print("%d programs, %d failed, refused: %s" % (len(o.numbers), failed, dict(refused)))
    return failed > 0 or sum(refused.values()) > len(o.numbers) * MOST_REFUSED


if __name__ == "__main__":
    sys.exit(main())
