#!/usr/bin/env python3
"""Takes tensors from random layouts to random layouts, and checks the numbers and the data that was moved.

    layouts.py --hirc build/dev/hirc --count 500           pairs 0 … 499 of seed 1
    layouts.py --hirc build/dev/hirc --show 17             prints the program of pair 17
    layouts.py --hirc build/dev/hirc --only 17             runs it alone

A pair is a program with one `set`, from one layout to another: meshes of one to three axes and one to
eight ranks, one mesh or two, any of its axes on any tensor axis, pending reductions, streams, rings,
blocks, allocation orders, extents that nothing divides, all dtypes. `hirc run --check` compares with the
reference, and this script compares the transport's counters with its own counts, element by element:

    least   the elements that ranks need and do not hold, each once
    own     for each rank, those of its elements that others need, once for each of them

If a single communication without a reduction does everything, the most that a rank sends according to `--remarks`
must be what the counters say.

All ranks together send `least`, and no rank sends more than `own`. If a reduction is pending, the ranks of its group
also need each other's parts, at most twice, before that.

It ends with a histogram; a feature in less than 3% of the pairs is an error, and so is a pair that is
refused.
"""
import collections
import concurrent.futures
import itertools
import math
import pathlib
import random
import re
import sys
import tempfile

import drawn

SIZES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2, "i64": 8, "i32": 4, "i8": 1, "u8": 1}
SHAPES = [(1,), (2,), (3,), (4,), (5,), (7,), (8,), (2, 2), (2, 3), (3, 2), (4, 2), (2, 4), (2, 2, 2), (1, 4), (2, 1, 2)]
EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16]
OPS = ("sum", "sum", "sum", "prod", "max", "min", "avg")
LEAST_SHARE = 0.03


class Mesh:
    def __init__(self, name, sizes, devices):
        self.name, self.sizes, self.devices = name, sizes, devices
        self.axes = ["%s%d" % (name, k) for k in range(len(sizes))]

    def text(self):
        head = "mesh %s(%s)" % (self.name, ", ".join(
            a if self.explicit_sizes() else "%s = %d" % (a, n) for a, n in zip(self.axes, self.sizes)))
        return head + (" = " + self.nested(0, self.devices) if self.explicit_sizes() else "")

    def explicit_sizes(self):
        return self.devices != list(range(len(self.devices)))

    def nested(self, level, devices):
        if level == len(self.sizes) - 1:
            return "{" + " ".join(map(str, devices)) + "}"
        step = len(devices) // self.sizes[level]
        return "{" + " ".join(self.nested(level + 1, devices[i:i + step]) for i in range(0, len(devices), step)) + "}"

    def index(self, device):
        """Returns the indices of a device along the mesh axes."""
        at, out = self.devices.index(device), []
        for n in reversed(self.sizes):
            out.append(at % n)
            at //= n
        return out[::-1]


class Layout:
    """places: for each tensor axis a list of (kind, mesh axis or factor), outermost first."""

    def __init__(self, mesh, extents, places, partial=(), op="sum"):
        self.mesh, self.extents, self.places, self.partial, self.op = mesh, extents, places, partial, op
        self.order = None

    def axis_text(self, a):
        out = str(self.extents[a])
        for kind, x in self.places[a]:
            out += "@" + (self.mesh.axes[x] if kind == "mesh" else
                          "swizzle1d(%s)" % self.mesh.axes[x] if kind == "swizzle1d" else "%s(%d)" % (kind, x))
        return out

    def text(self, dtype):
        part = ""
        if self.partial:
            part = " partial %s(%s)" % ("" if self.op == "sum" else self.op,
                                        ", ".join(self.mesh.axes[x] for x in self.partial))
        return "%s[%s] on %s%s" % (dtype, ", ".join(map(self.axis_text, range(len(self.extents)))), self.mesh.name,
                                   part.replace("  ", " ").replace("partial (", "partial("))

    def held(self, device):
        """Returns the set of elements that a device holds, as a set of indices for each axis; None: it is not in the
        mesh."""
        if device not in self.mesh.devices:
            return None
        index = self.mesh.index(device)
        out = []
        for extent, places in zip(self.extents, self.places):
            pieces = [(0, extent)]
            for kind, x in places:
                n = self.mesh.sizes[x] if kind in ("mesh", "swizzle1d") else x
                cut = []
                for lo, hi in pieces:
                    # the split's block follows from the full extent; blocks are clipped at each level
                    full = self.block(extent, places, kind, x)
                    for b in range(n):
                        if kind != "mesh" or b == index[x]:
                            cut.append((min(lo + b * full, hi), min(lo + (b + 1) * full, hi)))
                pieces = cut
            out.append(frozenset(i for lo, hi in pieces for i in range(lo, hi)))
        return out

    def block(self, extent, places, kind, x):
        size = extent
        for k, y in places:
            n = self.mesh.sizes[y] if k in ("mesh", "swizzle1d") else y
            size = -(-size // n)
            if (k, y) == (kind, x):
                return size
        raise AssertionError

    def loop_axes(self):
        """Returns the axes of the loop domain, if no hidden ones exist: those that `allocation` permutes."""
        n = 0
        for extent, places in zip(self.extents, self.places):
            n += 1
            size = extent
            for at, (kind, x) in enumerate(places):
                k = self.mesh.sizes[x] if kind in ("mesh", "swizzle1d") else x
                n += k != size or at + 1 < len(places)
                size = -(-size // k)
        return n

    def has(self, kind):
        return any(k == kind for places in self.places for k, _ in places)

    def uneven(self):
        for extent, places in zip(self.extents, self.places):
            size = extent
            for kind, x in places:
                k = self.mesh.sizes[x] if kind in ("mesh", "swizzle1d") else x
                if size % k:
                    return True
                size //= k
        return False


class Pair:
    def __init__(self, seed, number):
        r = self.r = random.Random("%d:%d" % (seed, number))
        self.number = number
        self.dtype = r.choice(list(SIZES))
        self.extents = [r.choice(EXTENTS) for _ in range(r.choice((1, 2, 2, 3)))]
        special = [self.any] * 11 + [self.gather, self.scatter, self.broadcast, self.reduce, self.moved, self.ring,
                                     self.steps, self.allgather,
                                     self.allreduce, self.reduce_steps]
        r.choice(special)()
        for layout in (self.source, self.target):
            if r.random() < 0.3 and not layout.partial and not layout.has("swizzle1d") and not layout.has("stream"):
                layout.order = list(range(layout.loop_axes()))
                r.shuffle(layout.order)
        self.ranks = 1 + max(self.source.mesh.devices + self.target.mesh.devices)

    def any(self):
        r = self.r
        a = self.mesh("a")
        b = self.mesh("b") if r.random() < 0.35 else a
        self.source = self.layout(a, r.random() < 0.35)
        self.target = self.layout(b, False)
        loops = r.random()
        if loops < 0.15:
            self.add_loop(self.target)
        elif loops < 0.27:
            self.add_ring(self.target)
        if self.source.partial and a is b and r.random() < 0.15:  # a part remains pending
            free = [x for x in self.source.partial if not any(("mesh", x) in p for p in self.target.places)]
            self.target.partial, self.target.op = free[:1], self.source.op

    def operation(self):
        return self.r.choice([x for x in OPS if x != "avg" or self.dtype[0] in "fb"])

    # ---- pairs that one collective does

    def empty(self, mesh, partial=()):
        return Layout(mesh, self.extents, [[] for _ in self.extents], partial, self.operation())

    def spread(self, mesh):
        """One tensor axis over the whole mesh."""
        out = self.empty(mesh)
        out.places[self.r.randrange(len(self.extents))] = [("mesh", x) for x in range(len(mesh.sizes))]
        return out

    def disjoint(self, one_here, one_there):
        """Two meshes without a common device."""
        devices = self.r.sample(range(8), 8)
        n = 1 if one_here else self.r.randrange(1, 8)
        k = 1 if one_there else self.r.randrange(1, 9 - n)
        shape = lambda n: self.r.choice([s for s in SHAPES + [(n,)] if math.prod(s) == n])
        return Mesh("a", shape(n), devices[:n]), Mesh("b", shape(k), devices[n:n + k])

    def gather(self):
        a, b = self.disjoint(False, True)
        self.source, self.target = self.spread(a), self.empty(b)

    def scatter(self):
        a, b = self.disjoint(True, False)
        self.source, self.target = self.empty(a), self.spread(b)

    def broadcast(self):
        a, b = self.disjoint(False, False)
        self.source, self.target = self.empty(a), self.empty(b)

    def reduce(self):
        a, b = self.disjoint(False, True)
        self.source, self.target = self.empty(a, tuple(range(len(a.sizes)))), self.empty(b)

    def moved(self):
        devices = self.r.sample(range(8), 8)
        sizes = self.r.choice([s for s in SHAPES if 1 < math.prod(s) <= 4])
        n = math.prod(sizes)
        a, b = Mesh("a", sizes, devices[:n]), Mesh("b", sizes, devices[n:2 * n])
        self.source = self.layout(a, False)
        self.target = Layout(b, self.extents, [list(p) for p in self.source.places])

    def steps(self):
        a = self.mesh("a")
        self.source = self.layout(a, False)
        self.target = Layout(a, self.extents, [list(p) for p in self.source.places])
        for places in self.target.places:
            if places and places[-1][0] == "mesh" and a.sizes[places[-1][1]] > 1:
                places[-1] = ("stream", a.sizes[places[-1][1]])
                return

    def ring(self):
        a = self.mesh("a")
        at = self.r.randrange(len(self.extents))
        x = self.r.randrange(len(a.sizes))
        self.extents[at] = a.sizes[x] * self.r.choice((1, 2, 3))
        self.source, self.target = self.empty(a), self.empty(a)
        self.source.places[at] = [("mesh", x)] * (self.r.random() < 0.8)
        self.target.places[at] = [("swizzle1d", x)]

    def allgather(self):
        a = self.mesh("a")
        self.source, self.target = self.spread(a), self.empty(a)

    def allreduce(self):
        """A mesh axis over which nothing is sharded is pending, and no axis takes it."""
        a = self.mesh("a")
        x = self.r.randrange(len(a.sizes))
        self.source = self.empty(a, (x,))
        for y in range(len(a.sizes)):
            if y != x and self.r.random() < 0.5:
                self.source.places[self.r.randrange(len(self.extents))].append(("mesh", y))
        self.target = Layout(a, self.extents, [list(p) for p in self.source.places])

    def reduce_steps(self):
        a = self.mesh("a")
        x = self.r.randrange(len(a.sizes))
        at = self.r.randrange(len(self.extents))
        self.source, self.target = self.empty(a, (x,)), self.empty(a)
        self.source.places[at] = [("stream", a.sizes[x])]
        self.target.places[at] = [("mesh", x)]
        for y in range(len(a.sizes)):
            b = self.r.randrange(len(self.extents))
            if y != x and b != at and self.r.random() < 0.5:
                self.source.places[b].append(("mesh", y))
                self.target.places[b].append(("mesh", y))

    def mesh(self, name):
        r = self.r
        sizes = r.choice(SHAPES)
        n = math.prod(sizes)
        devices = list(range(n))
        if r.random() < 0.4:
            devices = r.sample(range(8), n)
        return Mesh(name, sizes, devices)

    def layout(self, mesh, partial):
        r = self.r
        places = [[] for _ in self.extents]
        pending = []
        axes = list(range(len(mesh.sizes)))
        r.shuffle(axes)
        for x in axes:
            what = r.random()
            if partial and what < 0.5:
                pending.append(x)
            elif what < 0.8:
                places[r.randrange(len(places))].append(("mesh", x))
        if r.random() < 0.1:
            places[r.randrange(len(places))].insert(0, ("block", r.choice((2, 3))))
        return Layout(mesh, self.extents, places, sorted(pending), self.operation())

    def add_loop(self, layout):
        a = self.r.randrange(len(self.extents))
        at = self.r.randrange(len(layout.places[a]) + 1)
        layout.places[a].insert(at, ("stream", self.r.choice((2, 3, 4))))

    def add_ring(self, layout):
        """Adds a ring if an axis of the mesh is free and the extent is divisible."""
        free = [x for x in range(len(layout.mesh.sizes))
                if not any(("mesh", x) in p for p in layout.places)]
        for a in range(len(self.extents)):
            for x in free:
                if self.extents[a] % layout.mesh.sizes[x] == 0 and not layout.places[a]:
                    layout.places[a] = [("swizzle1d", x)]
                    return

    def program(self):
        s, t = self.source, self.target
        lines = [m.text() for m in ([s.mesh] if s.mesh is t.mesh else [s.mesh, t.mesh])]
        lines.append("program pair {")
        made = "X"
        if s.partial:
            # a reduction over as many leading axes as are pending
            terms = ["%d@%s" % (s.mesh.sizes[x], s.mesh.axes[x]) for x in s.partial]
            kept = [s.axis_text(a) for a in range(len(self.extents))]
            lines.append("  input Z: %s[%s] on %s" % (self.dtype, ", ".join(terms + kept), s.mesh.name))
            axes = ", ".join(map(str, range(len(terms))))
            lines.append("  X: %s = %s(Z, axis=%s)" % (s.text(self.dtype), "mean" if s.op == "avg" else s.op,
                                                       "(%s)" % axes if len(terms) > 1 else axes))
        else:
            lines.append("  input X: " + s.text(self.dtype))
            if s.order:
                lines.append("  schedule X { allocation (%s) }" % ", ".join(map(str, s.order)))
        lines.append("  output Y: %s = set(%s)" % (t.text(self.dtype), made))
        if t.order:
            lines.append("  schedule Y { allocation (%s) }" % ", ".join(map(str, t.order)))
        return "\n".join(lines + ["}", ""])

    def bounds(self):
        """Returns (least sent by all, most sent by each rank), in bytes."""
        size = SIZES[self.dtype]
        held = [self.source.held(d) for d in range(self.ranks)]
        needs = [self.target.held(d) for d in range(self.ranks)]
        count = lambda x: math.prod(map(len, x)) if x else 0
        both = lambda x, y: math.prod(len(i & j) for i, j in zip(x, y)) if x and y else 0
        least, own = 0, [0] * self.ranks
        if self.source.partial:
            group = math.prod(self.source.mesh.sizes[x] for x in self.source.partial)
            own = [count(x) * group for x in held]
            least = 2 * sum(map(count, held)) + sum(map(count, needs))
            for p in range(self.ranks):
                for q in range(self.ranks):
                    own[q] += both(held[q], needs[p])
            return least * size, [x * size for x in own]
        for p in range(self.ranks):
            if not needs[p]:
                continue
            least += count(needs[p]) - both(needs[p], held[p])
            for q in range(self.ranks):
                if q != p and held[q]:
                    here = both(held[q], needs[p])
                    if held[p]:
                        here -= math.prod(len(i & j & k) for i, j, k in zip(held[q], needs[p], held[p]))
                    own[q] += here
        return least * size, [x * size for x in own]

    def features(self):
        s, t = self.source, self.target
        out = ["mesh axes %d" % len(s.mesh.sizes)]
        out += ["partial"] * bool(s.partial)
        out += ["uneven"] * (s.uneven() or t.uneven())
        out += ["ring"] * t.has("swizzle1d")
        out += ["stream"] * (s.has("stream") or t.has("stream"))
        out += ["block"] * (s.has("block") or t.has("block"))
        out += ["order in memory"] * bool(s.order or t.order)
        out += ["two meshes"] * (s.mesh is not t.mesh)
        return out


class Result:
    def __init__(self, pair, problem, text, chosen):
        self.pair, self.problem, self.text, self.chosen = pair, problem, text, chosen


def chosen(dump):
    kinds = set(re.findall(r"^\s*(?:\S+\s*=\s*)?(?:Communication|CollectivePermute) \d+ \((?:type=(\w+))?", dump, re.M))
    return sorted(k or "CollectivePermute" for k in kinds) or ["none"]


def run(hirc, pair, mpi=False):
    text = pair.program()
    code, out, err = drawn.call([hirc, "compile", "-", "--dump", "--remarks", "--np=%d" % pair.ranks], text)
    if code:
        return Result(pair, "refused", err, [])
    kinds = chosen(out)
    said = re.findall(r" sends (\d+) bytes at most", err)
    if mpi:
        with tempfile.NamedTemporaryFile("w", suffix=".hir") as f:
            f.write(text)
            f.flush()
            code, out, err = drawn.call(["mpirun", "-np", str(pair.ranks), hirc, "run", f.name, "--check", "--stats"], "")
    else:
        code, out, err = drawn.call([hirc, "run", "-", "--bootstrap=thread", "--np=%d" % pair.ranks, "--check", "--stats"],
                              text)
    if code:
        return Result(pair, "wrong" if code == 3 else "fails with %d" % code, out + err, kinds)
    sent = sent_bytes(out + err, pair.ranks)
    least, own = pair.bounds()
    if sent is None:
        return Result(pair, "no counters", out + err, kinds)
    exact = kinds == ["AllToAllv"] and not pair.source.partial
    if sum(sent) > least or (exact and sum(sent) < least) or any(x > y for x, y in zip(sent, own)):
        return Result(pair, "sends too much or too little", "sent %s, own %s, least %d\n" % (sent, own, least), kinds)
    if len(said) == 1 and len(kinds) == 1 and "educe" not in kinds[0] and max(sent) != int(said[0]):
        return Result(pair, "sends other than --remarks says", "sent %s, said %s\n" % (sent, said[0]), kinds)
    return Result(pair, None, "", kinds)


def sent_bytes(text, ranks):
    """Returns the bytes that each rank has sent, from the table of --stats."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        titles = line.split()
        if "bytes_sent" in titles:
            column = titles.index("bytes_sent")
            return [int(x.split()[column]) for x in lines[i + 1:i + 1 + ranks]]
    return None


def report(results, folder, full):
    counts = collections.Counter()
    for r in results:
        counts.update(r.pair.features())
        counts.update("by " + k for k in r.chosen)
    for name in sorted(counts):
        share = counts[name] / len(results)
        print("%-24s %6d  %5.1f%%  %s" % (name, counts[name], 100 * share, "#" * round(40 * share)))
    bad = [r for r in results if r.problem]
    for r in bad[:10]:
        print("pair %d %s: %s" % (r.pair.number, r.problem, r.text.strip().splitlines()[0] if r.text.strip() else ""))
        (folder / ("pair-%d.hir" % r.pair.number)).write_text(r.pair.program())
        (folder / ("pair-%d.txt" % r.pair.number)).write_text(r.text)
    kinds = collections.Counter(r.problem for r in results)
    rare = [n for n in counts if full and counts[n] < LEAST_SHARE * len(results)]
    print("%d pairs, %s" % (len(results), ", ".join("%d %s" % (n, k or "right") for k, n in sorted(
        kinds.items(), key=lambda x: str(x[0])))))
    if rare:
        print("too rare: " + ", ".join(sorted(rare)))
    if bad:
        print("the programs are in %s" % folder)
    return 1 if bad or rare else 0


def main():
    args = drawn.options(__doc__, 500, lambda seed, number: Pair(seed, number).program(),
                         ("--mpi", "run by mpirun, instead of on threads"))
    pairs = [Pair(args.seed, k) for k in args.numbers]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda p: run(args.hirc, p, args.mpi), pairs))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hirc-layouts-"))
    code = report(results, folder, len(results) >= 200)
    if not any(folder.iterdir()):
        folder.rmdir()
    return code


if __name__ == "__main__":
    sys.exit(main())
