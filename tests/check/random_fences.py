#!/usr/bin/env python3
"""Compares `hirc check` on symmetric views with a slow and simple check: random_fences.py HIRC [COUNT [SEED]].

Programs are drawn at random: ranks write and read their own buffers, all or parts of views of all ranks' buffers,
make views and deallocate them, on streams that synchronize now and then, also in loops and branches. This script
steps all ranks, keeps for every access the set of all ranks' accesses that happened before it, and tests every pair.
hirc must find a race exactly if there is one, and each pair of lines that it names must be one. In a branch a rank's
own buffer counts as that of every rank.
"""
import re

import drawn_races

ROWS, BUFFERS, STREAMS = 12, 2, 2


class Program(drawn_races.Program):
    """The text, and the action of each line as a function of the rank and the loop's index, or None."""

    def __init__(self, seed):
        super().__init__(seed)
        self.ranks = self.random.choice([1, 2, 3, 4])
        self.block = -(-ROWS // self.ranks)
        self.lines = [f"mesh m(x = {self.ranks})", "program p on m {", f"  input X: f32[{ROWS}@x]"]
        self.lines += [f"  S{k}: f32[{ROWS}@x] symmetric = allocate()" for k in range(BUFFERS)]
        types = {"own": f"{ROWS}@x", "all": f"{ROWS}", "block": f"{ROWS}@stream({self.ranks})", "element": ""}
        self.results = {kind: [f"R{kind}{k}" for k in range(20)] for kind in types}
        for kind, names in self.results.items():
            self.lines += [f"  output {name}: f32[{types[kind]}] = allocate()" for name in names]
        self.lines.append("  main = get_current_stream()")
        self.ordered = self.random.uniform(0.1, 0.7)  # share of statements that order others
        self.shift = self.random.random()             # how often a part is different on each rank
        self.reads = self.random.random()             # how many accesses only read
        self.own = self.random.uniform(0.1, 0.9)      # how many are of the own buffer
        self.views = []  # (name, buffer) that are not freed
        self.block_of_statements(self.steps, "  ", None, self.random.randint(3, 14))
        self.finish()
        self.lines.append("}")

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def block_of_statements(self, steps, indent, in_loop, count):
        alive = len(self.views)
        for _ in range(count):
            draw = self.random.random()
            if draw < 0.15 and not in_loop:
                loop = []
                times = self.random.randint(2, 4)
                self.lines.append(f"{indent}for i in 0..{times} {{")
                self.block_of_statements(loop, indent + "  ", times, self.random.randint(1, 6))
                self.lines.append(indent + "}")
                steps.append(("loop", times, loop))
            elif draw < 0.3 or not self.views:
                name, buffer = self.name("V"), f"S{self.random.randrange(BUFFERS)}"
                self.line(steps, indent, f"{name} = symmetric_view({buffer})", "fence")
                self.views.append((name, buffer))
            elif draw < 0.45 and len(self.views) > alive:
                name, _ = self.views.pop(self.random.randrange(alive, len(self.views)))
                self.line(steps, indent, f"deallocate({name})", "fence")
            elif draw < 0.45 + 0.5 * self.ordered:
                stream = self.random.choice(["main"] + list(range(STREAMS)))
                what = self.random.choice(["set_stream", "synchronize", "synchronize"])
                self.line(steps, indent, f"{what}({stream})", what, stream)
            else:
                self.access(steps, indent, in_loop)
        while in_loop and len(self.views) > alive:
            self.line(steps, indent, f"deallocate({self.views.pop()[0]})", "fence")

    def index(self, n, in_loop):
        """Returns an index below n, as text and as a function."""
        k, times, i = self.random.randrange(n), 0, 0
        if self.random.random() < self.shift:
            times = self.random.choice([1, 1, 1, n // self.ranks or 1, 2])
        if in_loop and self.random.random() < 0.6:
            i = 1
        terms = [f"axis_index(x) * {times}"] * (times > 0) + ["i"] * i + [str(k)]
        return f"({' + '.join(terms)}) % {n}", lambda rank, at: (rank * times + (at or 0) * i + k) % n

    def part(self, steps, indent, in_loop, kind):
        """Returns the name of a part of a buffer, and its elements."""
        if kind == "own":
            buffer = f"S{self.random.randrange(BUFFERS)}"
            return buffer, lambda rank, _: {(buffer, e) for e in range(ROWS) if e // self.block == rank}
        view, buffer = self.random.choice(self.views)
        if kind == "all":
            return view, lambda rank, at: {(buffer, e) for e in range(ROWS)}
        name = self.name("v")
        if kind == "block":
            text, index = self.index(self.ranks, in_loop)
            self.line(steps, indent, f"{name}: f32[{ROWS}@stream({self.ranks})] = shard_by_stream({view}, {text})")
            elements = lambda rank, at: {(buffer, e) for e in range(ROWS) if e // self.block == index(rank, at)}
            return name, elements
        text, index = self.index(ROWS, in_loop)
        self.line(steps, indent, f"{name} = select({view}, axis=0, index={text})")
        return name, lambda rank, at: {(buffer, index(rank, at))}

    def access(self, steps, indent, in_loop):
        kind = "own" if self.random.random() < self.own else self.random.choice(["all", "block", "block", "element"])
        part, elements = self.part(steps, indent, in_loop, kind)
        nothing = lambda rank, at: set()
        draw, takes = self.random.random(), lambda rank: True
        branch = kind != "own" and self.random.random() < 0.2
        if branch:
            rank = self.random.randrange(self.ranks)
            self.lines.append(f"{indent}if axis_index(x) {'==' if rank else '>'} {rank} {{")
            takes = (lambda at: at == rank) if rank else (lambda at: at > 0)
        inner = indent + "  " * branch
        if draw < self.reads and self.results[kind]:
            to = result = self.results[kind].pop()
            if kind == "block":
                to = self.name("r")
                self.line(steps, inner, f"{to}: f32[{ROWS}@stream({self.ranks})] = shard_by_stream({result}, 0)")
            self.line(steps, inner, f"{to} <- neg({part})", "access",
                      (lambda rank, at: {(result, rank)}, elements, takes))
        elif draw < self.reads + 0.15:
            other, read = self.part(steps, inner, in_loop, kind)
            self.line(steps, inner, f"{part} <- neg({other})", "access", (elements, read, takes))
        else:
            self.line(steps, inner, f"{part} <- full(1.0)", "access", (elements, nothing, takes))
        if branch:
            self.lines.append(indent + "}")

    def finish(self):
        steps, last = self.steps, self.random.random()
        for stream in range(STREAMS):
            if self.random.random() < 0.9:
                self.line(steps, "  ", f"synchronize({stream})", "synchronize", stream)
        if last < 0.9:
            self.line(steps, "  ", "set_stream(main)", "set_stream", "main")
            for stream in range(STREAMS):
                self.line(steps, "  ", f"synchronize({stream})", "synchronize", stream)
        for name, _ in self.views:
            self.line(steps, "  ", f"deallocate({name})", "fence")
        for k in range(BUFFERS):
            own = lambda rank, at, k=k: {(f"S{k}", e) for e in range(ROWS) if e // self.block == rank}
            self.line(steps, "  ", f"deallocate(S{k})", "access", (own, lambda rank, at: set(), lambda rank: True))


def races(program):
    """Returns pairs of lines that nothing orders, of one rank or of two."""
    ranks = range(program.ranks)
    known = [{} for _ in ranks]  # by stream: accesses that happened before its next statement
    before, accesses, current = [], [], "main"
    for line, what, argument, i in program.unrolled():
        if what == "set_stream":
            current = argument
            continue
        now = [known[rank].setdefault(current, set()) for rank in ranks]
        if what == "synchronize":
            for rank in ranks:
                now[rank] |= known[rank].get(argument, set())
        elif what == "fence":
            everything = set().union(*now)
            for rank in ranks:
                now[rank] |= everything
        else:
            for rank in ranks:
                if argument[2](rank):
                    before.append(set(now[rank]))
                    now[rank].add(len(accesses))
                    accesses.append((line, argument[0](rank, i), argument[1](rank, i)))
    return drawn_races.pairs(accesses, before)


def named(text):
    found = {(int(a), int(b)) for a, b in re.findall(
        r":(\d+):\d+: error: (?:race|lifetime): .*\n.*\n.*\n.*?:(\d+):\d+: note: \w+ \w+ it here", text)}
    return found | {(int(a), int(a)) for a in re.findall(r":(\d+):\d+: error: race: \w+ writes a part of", text)}


drawn_races.compare(Program, races, named, both=True)  # a race between two ranks is reported in one of the two orders
