#!/usr/bin/env python3
"""Compares `hirc check` with a slow and simple check of its own: random_streams.py HIRC [COUNT [SEED]].

Programs are drawn at random: computations and broadcasts on buffers, rows, columns and blocks of them, on streams
that synchronize and wait now and then, also in loops. This script keeps for every access the set of accesses that
happened before it, and tests every pair. hirc must find a race exactly if there is one, and each pair of lines that
it names must be one.
"""
import re

import drawn_races

ROWS, COLUMNS, BUFFERS, STREAMS, RANKS = 6, 4, 3, 3, 2
KINDS = [["whole"], ["whole", "row"], ["row", "thirds", "halves"], ["row", "column", "row column"], ["thirdrow", "whole"],
         ["columnhalves", "halves", "quarters"], ["column thirds", "column halves", "row"], ["thirds column", "column"]]


class Program(drawn_races.Program):
    """The text, and the action of each line: a function of the loop index, or None."""

    def __init__(self, seed):
        super().__init__(seed)
        self.lines = ["mesh m(x = 2)", "program p on m {", f"  input X: f32[{ROWS}, {COLUMNS}]"]
        self.lines += [f"  output B{k}: f32[{ROWS}, {COLUMNS}] = allocate()" for k in range(BUFFERS)]
        self.lines.append("  main = get_current_stream()")
        self.ordered = self.random.uniform(0.3, 0.75)  # share of statements that order others
        self.careful = self.random.choice([0, 0.6, 0.8, 0.9])  # how often a stream waits for another at once
        self.kinds = self.random.choice(KINDS)
        self.buffers = self.random.randint(1, BUFFERS)
        self.waits = []  # Communications without a wait so far
        for _ in range(self.random.randint(3, 16)):
            if self.random.random() < 0.15:
                self.loop()
            else:
                self.statement(self.steps, "  ", None)
        self.lines.append("}")

    def loop(self):
        count = self.random.randint(2, ROWS)
        steps = []
        self.lines.append(f"  for i in 0..{count} {{")
        for _ in range(self.random.randint(1, 4)):
            self.statement(steps, "    ", count)
        self.lines.append("  }")
        self.steps.append(("loop", count, steps))

    def index(self, n, in_loop):
        """Returns an index below n, as text and as a function of i."""
        k = self.random.randrange(n)
        if in_loop and self.random.random() < 0.7:
            return (f"(i + {k}) % {n}", lambda i: (i + k) % n) if k else (f"i % {n}", lambda i: i % n)
        return str(k), lambda i: k

    def view(self, buffer, kind, steps, indent, in_loop):
        """Returns the name of a part of a buffer, and its elements as a function of i."""
        elements = lambda i: {(buffer, r, c) for r in range(ROWS) for c in range(COLUMNS)}
        name = buffer
        for part in kind.split():
            self.names += 1
            view = f"v{self.names}"
            axis = 1 if part.startswith("column") else 0
            if part in ("row", "column"):
                dropped = 0 if kind == "row column" else axis
                text, at = self.index((ROWS, COLUMNS)[axis], in_loop)
                self.line(steps, indent, f"{view} = select({name}, axis={dropped}, index={text})")
                keep = lambda e, at, axis=axis: e[1 + axis] == at
            elif part == "thirdrow":  # every third row, by an inner split
                text, at = self.index(3, in_loop)
                self.line(steps, indent, f"{view}: f32[{ROWS}, {COLUMNS}] = shard_by_stream({name}, {text})")
                self.line(steps, indent, f"schedule {view} {{ split 0 inner 3; parallelize 1 stream }}")
                keep = lambda e, at: e[1] % 3 == at
            elif part != "whole":
                blocks = {"thirds": 3, "halves": 2, "columnhalves": 2, "quarters": 4}[part]
                text, at = self.index(blocks, in_loop)
                extents = [str(ROWS), str(COLUMNS)]
                if kind.startswith("column "):
                    del extents[1]
                extents[axis] += f"@stream({blocks})"
                self.line(steps, indent, f"{view}: f32[{', '.join(extents)}] = shard_by_stream({name}, {text})")
                size = -(-(ROWS, COLUMNS)[axis] // blocks)
                keep = lambda e, at, axis=axis, size=size: e[1 + axis] // size == at
            else:
                continue
            elements = lambda i, of=elements, at=at, keep=keep: {e for e in of(i) if keep(e, at(i))}
            name = view
        return name, elements

    def statement(self, steps, indent, in_loop):
        draw = self.random.random()
        stream = self.random.choice(["main"] + list(range(STREAMS)))
        if in_loop and stream != "main" and self.random.random() < 0.5:
            stream = "i"
        order = self.ordered
        if draw < order * 0.35:
            self.line(steps, indent, f"set_stream({stream})", "set", stream)
            for other in ["main"] + list(range(STREAMS)):
                if other != stream and self.random.random() < self.careful:
                    self.line(steps, indent, f"synchronize({other})", "synchronize", other)
        elif draw < order * 0.8:
            self.line(steps, indent, f"synchronize({stream})", "synchronize", stream)
        elif draw < order and self.waits and not in_loop:
            name = self.waits.pop(self.random.randrange(len(self.waits)))
            self.line(steps, indent, f"wait({name})", "wait", name)
        else:
            kind = self.random.choice(self.kinds)
            to = self.view(f"B{self.random.randrange(self.buffers)}", kind, steps, indent, in_loop)
            of = self.view(self.random.choice(["X", "B0", "B1", "B2", "B0"]), kind, steps, indent, in_loop)
            if self.random.random() < 0.6:
                self.line(steps, indent, f"{to[0]} <- neg({of[0]})", "compute", (to[1], of[1]))
                return
            self.names += 1
            name, root = f"c{self.names}", self.random.randrange(RANKS)
            self.line(steps, indent, f"{to[0]} <- broadcast_from({of[0]}, axis=x, root={root}) as {name}", "start",
                      (name, root, to[1], of[1]))
            if in_loop:
                self.line(steps, indent, f"wait({name})", "wait", name)
            else:
                self.waits.append(name)


def races(program, rank):
    """Returns pairs of lines that nothing orders."""
    known = {}  # by stream: accesses that happened before its next statement
    pending, before, accesses, current = {}, [], [], "main"
    stream = lambda name, i: i % 4 if name == "i" else name
    for line, what, argument, i in program.unrolled():
        now = known.setdefault(current, set())
        if what == "set":
            current = stream(argument, i)
        elif what == "synchronize":
            now |= known.get(stream(argument, i), set())
        elif what == "wait":
            access = pending[argument].pop(0)
            now |= before[access] | {access}
        else:
            access = len(accesses)
            before.append(set(now))
            if what == "compute":
                accesses.append((line, argument[0](i), argument[1](i)))
                now.add(access)
            else:
                name, root, to, of = argument
                accesses.append((line, to(i), of(i) if root == rank else set()))
                pending.setdefault(name, []).append(access)
    return drawn_races.pairs(accesses, before)


def named(text):
    return {(int(a), int(b)) for a, b in re.findall(r":(\d+):\d+: error: race: .*\n.*\n.*\n.*?:(\d+):\d+: note:", text)}


drawn_races.compare(Program, lambda p: set().union(*(races(p, rank) for rank in range(RANKS))), named)
