#!/usr/bin/env python3
"""small_graphs.py FOLDER [--first SEED] [--count N] [--nodes N] [--layers]: writes small random graphs, SEED.graph each.

A graph has inputs, at most --nodes other nodes, and an output. With --layers it has layers instead, in the order of
their work: each gathers a parameter, works with it, and reduces a gradient. The file depends on the seed and options alone.
Collectives of one or two groups have tables with a large or small latency, stepped or not; packing is cheap or dear.
"""
import argparse
import os
import random

MIB = 1 << 20
SIZES = (1 << 19, MIB, MIB, 2 * MIB, 2 * MIB, 3 * MIB, 4 * MIB, 8 * MIB)
TIMES = (0, 0.5, 5, 20, 50, 100, 200)
COLLECTIVES = "allgather", "reduce_scatter", "allreduce"
POINTS = (1, 2, 4, 8, 16, 32)
LAYERS = 3


class Small:
    def __init__(self, seed, most):
        self.r = random.Random(seed)
        self.odd = random.Random(7 * seed + 1)  # a tenth of the graphs has times unlike others
        self.is_odd = self.odd.random() < 0.1
        self.copies = random.Random(11 * seed + 1).random() < 0.25  # waits make storages of their own
        self.nodes, self.storages, self.size_of, self.used = [], [], {}, set()
        self.rate = self.r.choice((2e11, 1e12, 3e12))
        groups = self.r.choice((1, 1, 2))
        self.tables = {(g, c): self.table() for g in range(groups) for c in COLLECTIVES}
        self.groups = groups
        self.results = []  # nodes whose results later nodes may read
        self.favourite = self.r.choice(COLLECTIVES)
        for k in range(self.r.randint(1, 3)):
            size = self.r.choice(SIZES)
            self.results.append(self.add("p%d" % k, "placeholder", [], size, "input", 0))
        self.fill(most)

    def fill(self, most):
        while most > 0:
            most -= self.collective() if most > 1 and self.r.random() < 0.45 else self.compute()

    def table(self):
        latency, rate = self.r.choice((0.02, 0.06, 0.1, 0.13)), self.r.choice((0.0015, 0.008, 0.02, 0.025))
        points = [(mib, latency + rate * mib * self.r.uniform(0.9, 1.1)) for mib in POINTS]
        if self.is_odd:  # larger is not always slower
            points = [(mib, time * self.odd.uniform(0.5, 1.5)) for mib, time in points]
        else:
            points = [(mib, max(time for other, time in points if other <= mib)) for mib, _ in points]
        return self.r.choice(("table", "nccl")), points

    def time_of(self, group, collective, size):
        kind, points = self.tables[group, collective]
        mib = size / MIB
        if kind == "table" and (mib < 1 or int(mib) in POINTS):
            return dict(points)[max(1, int(mib))] * 1000
        if mib <= points[0][0]:
            return points[0][1] * 1000
        for (a, x), (b, y) in zip(points, points[1:]):
            if mib <= b:
                return (x + (y - x) * (mib - a) / (b - a)) * 1000
        raise ValueError(size)

    def add(self, name, target, inputs, size, kind, time, storage=None, more=""):
        k = len(self.nodes)
        if storage is None:
            storage = len(self.storages)
            self.storages.append([size, k, "input" if kind == "input" else "temp"])
        self.size_of[k] = size
        self.used.update(inputs)
        self.nodes.append((storage, "node %d %s %s in=%s out=f32[%d] bytes=%d time_us=%.9g kind=%s st=%d%s" % (
            k, name, target, ",".join(map(str, sorted(set(inputs)))), size // 4, size, time, kind, storage, more)))
        return k

    def pick(self):
        """Later results are read more often."""
        k = len(self.results)
        return self.results[max(self.r.randrange(k), self.r.randrange(k)) if self.r.random() < 0.5 else self.r.randrange(k)]

    def compute(self):
        inputs = [self.pick() for _ in range(self.r.choice((1, 1, 2)))]
        k = len(self.nodes)
        size, time = self.r.choice(SIZES), self.r.choice(TIMES)
        time *= self.odd.choice((1, 1, 1, 1, 50)) if self.is_odd else 1
        self.results.append(self.add("n%d" % k, "op", inputs, size, "compute", time))
        return 1

    def collective(self):
        group, k = self.r.randrange(self.groups), len(self.nodes)
        name = self.favourite if self.r.random() < 0.5 else self.r.choice(COLLECTIVES)
        x = self.pick()
        size = self.size_of[x]
        if name == "allgather" and size > 4 * MIB:
            name = "reduce_scatter"
        self.results.append(self.waited(group, name, x, k))
        return 2

    def waited(self, group, name, x, k):
        """Adds a collective of node x and its wait. Returns the wait."""
        size = self.size_of[x]
        out = {"allgather": 2 * size, "reduce_scatter": size // 2, "allreduce": size}[name]
        time = self.time_of(group, name, size) * (self.odd.uniform(0.5, 1.5) if self.is_odd else 1)
        comm = self.add("c%d" % k, name, [x], out, "comm", time,
                        more=" group=%d group_size=2 coll=%s inbytes=%d" % (group, name, size))
        own = (None, "") if self.copies else (self.nodes[comm][0], " alias=%d" % comm)
        return self.add("w%d" % k, "wait", [comm], out, "wait", 0, *own)

    def write(self, name, out):
        kept = [k for k in self.results if k not in self.used]
        out.write("hircgraph 1\ngraph %s\nlaunch_us 1\nhw name=small dram_Bps=%g\n" % (name, self.rate))
        for g in range(self.groups):
            out.write("group %d size=2\n" % g)
        for (g, c), (kind, points) in self.tables.items():
            text = ",".join("%d:%.6g" % p for p in points)
            out.write("coll group=%d size=2 coll=%s src=%s used=1 mb_ms=%s\n" % (g, c, kind, text))
        saved = {self.nodes[k][0] for k in kept}
        for k, (size, node, kind) in enumerate(self.storages):
            out.write("storage %d bytes=%d dev=cuda def=%d kind=%s%s\n" % (k, size, node, kind, " saved=1" if k in saved else ""))
        for _, line in self.nodes:
            out.write(line + "\n")
        ids = ",".join(map(str, kept))
        out.write("node %d output output in=%s out=none bytes=0 time_us=0 kind=output\n" % (len(self.nodes), ids))
        out.write("end nodes=%d storages=%d\n" % (len(self.nodes) + 1, len(self.storages)))


class Layers(Small):
    def fill(self, most):
        """Results of layers are large, so that little memory is left while they exist. All collectives are of a group."""
        sizes = self.r.sample(SIZES, 2)
        shards = [self.add("s%d" % k, "placeholder", [], self.r.choice(sizes), "input", 0) for k in range(LAYERS)]
        x = self.results[0]
        for layer, shard in enumerate(shards):
            gathered = self.waited(0, "allgather", shard, len(self.nodes))
            k = len(self.nodes)
            x = self.add("x%d" % k, "op", [x, gathered], self.r.choice(SIZES), "compute", self.r.choice(TIMES))
            if self.r.random() < 0.5:
                x = self.add("y%d" % k, "op", [x], self.r.choice(SIZES), "compute", self.r.choice(TIMES))
            size = self.r.choice(sizes)
            gradient = self.add("g%d" % k, "op", [x], size, "compute", self.r.choice(TIMES))
            if layer < LAYERS - 1 or self.r.random() < 0.5:
                self.results.append(self.waited(0, "reduce_scatter", gradient, k))
        self.results.append(x)


def write_graphs(folder, first, count, nodes, layers=False):
    """Returns the paths of the graphs."""
    paths = []
    for seed in range(first, first + count):
        paths.append(os.path.join(folder, "small_%d.graph" % seed))
        with open(paths[-1], "w") as out:
            made = Layers if layers else Small
            made(seed, random.Random(~seed).randint(4, nodes)).write("small_%d" % seed, out)
    return paths


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--nodes", type=int, default=12)
    p.add_argument("--layers", action="store_true")
    o = p.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    write_graphs(o.folder, o.first, o.count, o.nodes, o.layers)


if __name__ == "__main__":
    main()
