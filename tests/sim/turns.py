#!/usr/bin/env python3
"""Random programs whose ranks meet by their numbers. Some ranks are not walked, because a turn of the program moves
them to walked ranks or because they do the same as walked ranks. This must not change any figure.

    turns.py HIRC [COUNT [FIRST]]
    turns.py HIRC --show N

A program has messages and collectives, some with a root, on meshes of one to three axes, with ranks in order, with gaps or in any order,
on one mesh or two, in loops and under conditions. Most peers are a number of steps away along an axis, round the end.
Other peers, conditions, loops and streams break the symmetry. In some programs ranks come late or are slow.
For every program, figures and traces are compared with those of a simulation rank by rank; or both must be refused.
"""
import collections
import pathlib
import random
import sys
import tempfile

from simulated import CALLS, CONTENDED, simulate

RING = "send(X, peer=device(%s, %s)) as s\nrecv(B, peer=device(%s, %s)) as r\nwait(r)\nwait(s)\n"
# In each of these something only seems to be the same on all ranks when seen from rank 0.
WRITTEN = {
    "a product of two indices": (
        "mesh m(a = 2, b = 4)", "if axis_index(a) * axis_index(b) % 2 == 0 {\nZ <- exp(X)\n}\n"),
    "a remainder that the size is no multiple of": (
        "mesh m(a = 8)", "if axis_index(a) % 3 == (axis_index(a) + 3) % 8 % 3 {\nZ <- exp(X)\n}\n"),
    "indices that move by different steps": (
        "mesh m(a = 8)", "if axis_index(a) * 2 % 8 == axis_index(a) {\nZ <- exp(X)\n}\n"),
    "indices modulo different sizes": (
        "mesh m(a = 8)", "if axis_index(a) % 4 == axis_index(a) {\nZ <- exp(X)\n}\n"),
    "peers at other distances": (
        "mesh m(a = 8)", RING % ("a", "axis_index(a) * 3 % 8", "a", "axis_index(a) * 3 % 8")),
    "a division that leaves a part of a step": (
        "mesh m(a = 8)", "if floorDiv(axis_index(a), 4) * 4 % 8 == floorDiv((axis_index(a) + 2) % 8, 4) * 4 % 8 {\n"
        "Z <- exp(X)\n}\n"),
    "a side of a condition that rank 0 leaves out": (
        "mesh m(a = 8)", "if axis_index(a) % 2 == 1 and axis_index(a) > 4 {\nZ <- exp(X)\n}\n"),
    "a team of half of the ranks": (
        "mesh m(a = 8)", "Z <- allreduce(P, team=(0 2 4 6)) as c\nwait(c)\n"
        + RING % ("a", "(axis_index(a) + 1) % 8", "a", "(axis_index(a) + 7) % 8")),
    "a rank that all know": (
        "mesh m(a = 8)", "if rank == 3 {\nsend(X, peer=5) as s\nwait(s)\n}\nif rank == 5 {\nrecv(B, peer=3) as r\n"
        "wait(r)\n}\n"),
    "a ring of every other rank": (
        "mesh m(a = 8)\nmesh o(b) = {0 2 4 6}", "U: f32[64] on o = exp(V)\n"
        + RING % ("a", "(axis_index(a) + 1) % 8", "a", "(axis_index(a) + 7) % 8")),
    "two rings, one of a mesh in another order": (
        "mesh m(a = 8)\nmesh o(b) = {0 3 6 1 4 7 2 5}", "U: f32[64] on o = exp(V)\n"
        + RING % ("b", "(axis_index(b) + 2) % 8", "b", "(axis_index(b) + 6) % 8")),
}
SHAPES = [(4,), (6,), (8,), (12,), (16,), (2, 4), (4, 4), (4, 2), (3, 4), (2, 2, 4), (2, 3, 2), (32,), (8, 8)]


class Program:
    def __init__(self, number):
        self.r = random.Random(f"turns {number}")
        self.names = 0
        self.regular = self.r.random() < 0.6  # only turns of an axis
        self.values, self.lines = [], []
        self.shape = self.r.choice(SHAPES)
        self.axes = [f"a{k}" for k in range(len(self.shape))]
        n = 1
        for size in self.shape:
            n *= size
        self.ranks = n
        self.mesh = self.devices(n)

    def devices(self, n):
        """Returns the text of the mesh: in order, or as a list."""
        way = self.r.random()
        if way < 0.7 or len(self.shape) > 2:
            self.in_order = True
            return "mesh m(%s)" % ", ".join(f"{a} = {s}" for a, s in zip(self.axes, self.shape))
        self.in_order = False
        ids = list(range(n)) if way < 0.85 else [2 * k for k in range(n)]
        if way > 0.92:
            self.r.shuffle(ids)
        if len(self.shape) == 1:
            return "mesh m(a0) = {%s}" % " ".join(map(str, ids))
        rows = [ids[k * self.shape[1]:(k + 1) * self.shape[1]] for k in range(self.shape[0])]
        return "mesh m(a0, a1) = {%s}" % " ".join("{%s}" % " ".join(map(str, row)) for row in rows)

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def emit(self, depth, text):
        self.lines.append("  " * depth + text)

    def distance(self, indices):
        """Returns a distance, at least 0, that does not depend on the rank."""
        products = [f"{i} * {self.r.randrange(1, 4)}" for i in indices]
        return self.r.choice([str(self.r.randrange(5)), *indices, *products])

    def peers(self, indices):
        """Returns the peers of a send and its receive, and the condition of each; None: all ranks."""
        k = self.r.randrange(len(self.axes))
        a, n = f"axis_index({self.axes[k]})", self.shape[k]
        d, way = self.distance(indices), self.r.random() * (0.8 if self.regular else 1)
        if way < 0.5:
            e, back = f"({a} + {d}) % {n}", f"({a} + {64 * n} - {d}) % {n}"
            return f"device({self.axes[k]}, {e})", f"device({self.axes[k]}, {back})", None, None
        if way < 0.6 and self.in_order:
            return f"(rank + {d}) % {self.ranks}", f"(rank + {64 * self.ranks} - {d}) % {self.ranks}", None, None
        if way < 0.7 and n % 2 == 0:  # pairs
            e = f"device({self.axes[k]}, ({a} + {n} + 1 - {a} % 2 * 2) % {n})"
            return e, e, None, None
        if way < 0.8:  # in groups
            size = self.r.choice([g for g in range(1, n + 1) if n % g == 0])
            group = f"floorDiv({a}, {size}) * {size}"
            place = f"device({self.axes[k]}, {group} + ({a} % {size} + BY) % {size})"
            return place.replace("BY", d), place.replace("BY", f"{64 * size} - {d}"), None, None
        if way < 0.9:  # a line
            after, before = (f"device({self.axes[k]}, {a} {by})" for by in ["+ 1", "- 1"])
            return after, before, f"{a} < {n - 1}", f"{a} > 0"
        if way < 0.95:  # all ranks at 0 along an axis
            return (f"device({self.axes[k]}, {n - 1})", f"device({self.axes[k]}, 0)", f"{a} == 0", f"{a} == {n - 1}")
        at = self.r.randrange(n)
        other = (at + 1) % n
        return (f"device({self.axes[k]}, {other})", f"device({self.axes[k]}, {at})", f"{a} == {at}", f"{a} == {other}")

    def guarded(self, depth, condition, text):
        if condition is None:
            self.emit(depth, text)
            return
        self.emit(depth, f"if {condition} {{")
        self.emit(depth + 1, text)
        self.emit(depth, "}")

    def message(self, depth, indices):
        to, of, sends, receives = self.peers(indices)
        s, r, value = self.name("c"), self.name("c"), self.name("B")
        self.values.append(value)
        self.guarded(depth, sends, f"send(X, peer={to}) as {s}")
        self.guarded(depth, receives, f"recv({value}, peer={of}) as {r}")
        if self.r.random() < 0.5:
            self.emit(depth, f"{value} <- exp(X)" if self.r.random() < 0.3 else "Z <- exp(X)")
        self.guarded(depth, receives, f"wait({r})")
        self.guarded(depth, sends, f"wait({s})")

    def collective(self, depth):
        c, axis = self.name("c"), self.r.choice(self.axes)
        value = self.name("B")
        self.values.append(value)
        self.emit(depth, f"{value} <- allreduce(P_{axis}, axis={axis}) as {c}")
        self.emit(depth, f"wait({c})")

    def rooted(self, depth, indices):
        """A collective whose root has other calls than the others, or a ring in which ranks are their own peers."""
        c, value, k = self.name("c"), self.name("B"), self.r.randrange(len(self.axes))
        axis, n = self.axes[k], self.shape[k]
        others = [f"axis_index({a}) % {n}" for a in self.axes if a != axis]
        self.values.append(value)
        if self.r.random() < 0.5:
            root = self.r.choice([str(self.r.randrange(n)), *(f"{i} % {n}" for i in indices), *others])
            self.emit(depth, f"{value} <- broadcast_from(X, axis={axis}, root={root}) as {c}")
        else:
            a, d = f"axis_index({axis})", self.distance(indices)
            self.emit(depth, f"{value} <- collective_permute(X, axis={axis}, send_peer=({a} + {d}) % {n}, "
                      f"recv_peer=({a} + {64 * n} - {d}) % {n}) as {c}")
        self.emit(depth, f"wait({c})")

    def condition(self):
        k = self.r.randrange(len(self.axes))
        a, n = f"axis_index({self.axes[k]})", self.shape[k]
        turning = [f"{a} % 2 == 0", f"({a} + 1) % {n} != {a}", f"{a} % 2 == 0 and {a} % 2 == 1",
                   f"floorDiv({a}, 2) % 2 == 1", f"{a} % 2 == 0 or rank % 2 == {a} % 2"]
        others = [f"{a} == {self.r.randrange(n)}", f"rank == {self.r.randrange(self.ranks)}", f"{a} < {n // 2}",
                  f"{a} * axis_index({self.r.choice(self.axes)}) % 4 == 0", f"max({a}, 1) == 1"]
        return self.r.choice(turning if self.regular else turning + others)

    def block(self, depth, indices):
        for _ in range(self.r.randrange(1, 4)):
            way = self.r.random()
            if way < 0.45:
                self.message(depth, indices)
            elif way < 0.53:
                self.collective(depth)
            elif way < 0.6:
                self.rooted(depth, indices)
            elif way < 0.7:
                self.emit(depth, "Z <- exp(X)")
            elif way < 0.76:
                self.emit(depth, f"if {self.condition()} {{")
                self.emit(depth + 1, "Z <- exp(X)")
                self.emit(depth, "}")
            elif way < 0.82:
                turning = [f"axis_index({self.r.choice(self.axes)}) % 2", "1"]
                index = self.r.choice(indices + turning + [f"axis_index({self.axes[0]})"] * (not self.regular))
                self.emit(depth, f"set_stream({index})")
            elif depth < 3:
                i = self.name("i")
                stop = self.r.choice(["2", "3", str(self.shape[0]), f"axis_index({self.axes[0]}) % 2 + 1"]
                                     if self.r.random() < 0.3 else ["2", "3", str(self.shape[-1])])
                self.emit(depth, f"for {i} in 0..{stop} {{")
                self.block(depth + 1, [*indices, i])
                self.emit(depth, "}")

    def text(self):
        self.block(1, [])
        head = [self.mesh]
        inputs = ["  input X: f32[64]", *(f"  input P_{a}: f32[64] partial({a})" for a in self.axes)]
        if self.r.random() < (0.1 if self.regular else 0.25):
            other = self.r.sample(range(self.ranks), self.r.choice([1, 2, self.ranks // 2, self.ranks]))
            head.append("mesh other(b) = {%s}" % " ".join(map(str, sorted(other))))
            inputs.append("  input V: f32[64] on other")
            self.lines.insert(0, "  U: f32[64] on other = exp(V)")
        made = [f"  {v}: f32[64] = allocate()" for v in self.values]
        return "\n".join([*head, "program p on m {", *inputs, "  output Z: f32[64] = allocate()", *made, *self.lines,
                          "  Z <- exp(X)", "}", ""])

    def options(self):
        r = self.r
        out = ["--passes=", "--cluster=" + r.choice(["h100", CONTENDED, CALLS])]
        if out[-1].endswith(CALLS):
            out.append("--transport=" + r.choice(["nccl", "peers", "cuda-ipc"]))
        if r.random() < (0.04 if self.regular else 0.2):
            out.append(f"--delay={r.randrange(self.ranks)}:3000")
        if r.random() < (0.04 if self.regular else 0.2):
            out.append(f"--slow={r.randrange(self.ranks)}:1.7")
        if r.random() < 0.2:
            out.append("--streams=" + r.choice(["0", "1"]))
        return out


def reason(error):
    """Returns the reason without rank numbers: if several ranks wait for each other for ever, any may be named."""
    message = error.split("error: ")[-1].split("\n")[0]
    return "ranks wait for ever" if "waits for ever" in message else message


def written(name):
    mesh, lines = WRITTEN[name]
    both = "  input V: f32[64] on o\n" * ("mesh o" in mesh)
    inputs = f"  input X: f32[64]\n  input P: f32[64] partial(a)\n{both}"
    made = "  output Z: f32[64] = allocate()\n  B: f32[64] = allocate()\n"
    return f"{mesh}\nprogram p on m {{\n{inputs}{made}{lines}  Z <- exp(X)\n}}\n"


def differs(hirc, text, options, folder, refused):
    (folder / "p.hir").write_text(text)
    once, error = simulate(hirc, folder / "p.hir", options, folder)
    each, other = simulate(hirc, folder / "p.hir", [*options, "--classes=no"], folder)
    if once is None:
        refused[reason(error)] += 1
    if once == each and (once is not None or reason(error) == reason(other)):
        return False
    print(f"{text}# {' '.join(options)}: ranks one by one take another time\n{error}{other}")
    return True


def main():
    hirc = sys.argv[1]
    if sys.argv[2:3] == ["--show"]:
        program = Program(int(sys.argv[3]))
        print(program.text() + "# " + " ".join(program.options()))
        return 0
    count, first = (int(x) for x in (sys.argv[2:] + ["100", "0"][len(sys.argv) - 2:])[:2])
    bad, refused, never = 0, collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in WRITTEN:
            for cluster in ["h100", CONTENDED]:
                bad += differs(hirc, written(name), ["--passes=", f"--cluster={cluster}"], folder, never)
        for k in range(first, first + count):
            program = Program(k)
            bad += differs(hirc, program.text(), program.options(), folder, refused)
    for message in never:
        print(f"refused: {message}")
    for message, n in refused.most_common():
        print(f"{n} refused: {message}")
    refusals = sum(refused.values())
    print(f"{count} programs, {refusals} refused, {bad} bad")
    return bad > 0 or never or refusals > count // 4


sys.exit(bool(main()))
