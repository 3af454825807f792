#!/usr/bin/env python3
"""recorded_peaks.py HIRC [--count N] [--seed N]: random recorded programs need as much memory as schedule-overlap says.

A program has collectives, waits with the storage of their collective or their own, waits for waits, views, writes in place,
scratch, stated bytes and loops. `hirc sim` and schedule-overlap must state the same peak: of the program, of the scheduled
program, and of its dump. Without loops they must state the same time, too.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HEAD = """cluster recorded {launch=1000, memory_rate=1000000000}
group g0(4) {allgather=(1024, 20000, 65536, 40000), reduce_scatter=(1024, 20000, 65536, 40000), allreduce=(1024, 30000, 65536, 70000)}
group g1(2) {allgather=(1024, 10000, 65536, 20000), reduce_scatter=(1024, 10000, 65536, 20000), allreduce=(1024, 9000, 65536, 30000)}
program drawn {
"""
RANKS = {"g0": 4, "g1": 2}
SAID = re.compile(r"schedule-overlap: (an iteration of this loop: )?([\d.]+) (us|ms) instead of [\d.]+, .*; "
                  r"at most (\d+) bytes live instead of (\d+);")


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.values, self.pending, self.n = [], [], [], 0
        self.loops = self.chance(4)
        self.group = "g0"

    def chance(self, n):
        return self.random.randrange(n) == 0

    def name(self):
        self.n += 1
        return f"v{self.n}"

    def put(self, results, what, operands, **attributes):
        """results: pairs of dtype and elements. Returns their values."""
        made = [(self.name(), *r) for r in results]
        left = ", ".join(f"{name}: {dtype}[{n}]" for name, dtype, n in made)
        text = ", ".join(f"{key}={value}" for key, value in attributes.items())
        self.lines.append(f"{left}{' = ' if left else ''}extern \"{what}\"({', '.join(x[0] for x in operands)}) {{{text}}}")
        return made

    def draw(self):
        return self.random.choice(self.values)

    def costs(self, results):
        more = {}
        if self.chance(6):
            more["scratch"] = 64 * self.random.randrange(1, 200)
        if self.chance(6):
            more["bytes"] = f"({', '.join(str(64 * self.random.randrange(300)) for _ in range(results))})"
        return more

    def work(self):
        results = [(self.random.choice(["f32", "bf16"]), 16 * self.random.randrange(1, 200))
                   for _ in range(self.random.choice([0, 1, 1, 1, 2]))]
        more = {} if results else {"name": f'"{self.name()}"'}
        self.values += self.put(results, "work", [self.draw() for _ in range(self.random.randrange(1, 4))],
                                time=self.random.randrange(40000), **more, **self.costs(len(results)))

    def view(self):
        x = self.draw()
        self.values += self.put([x[1:]], "view", [x], kind="view", time=0, view="(0)")

    def write(self):
        x = self.draw()
        self.values += self.put([x[1:]], "write", [x, self.draw()], time=2000, view="(0)", writes="(0)")

    def collective(self):
        x = self.draw()
        kind = self.random.choice(["allgather", "reduce_scatter", "allreduce"])
        if self.chance(3):
            self.group = self.random.choice(list(RANKS))
        n = RANKS[self.group]
        elements = x[2] * n if kind == "allgather" else max(1, x[2] // n) if kind == "reduce_scatter" else x[2]
        place = kind == "allreduce" and self.chance(3)
        more = {"view": "(0)", "writes": "(0)"} if place else self.costs(1)
        made = self.put([(x[1], elements)], kind, [x], kind=kind, group=self.group, time=self.random.randrange(20000, 50000), **more)
        self.pending += made * self.random.choice([1] * 8 + [2, 0])

    def wait(self, x):
        self.pending.remove(x)
        more = {"view": "(0)"} if self.chance(2) else {}
        if self.chance(10):
            more["scratch"] = 4096
        made = self.put([x[1:]], "wait", [x], kind="wait", time=self.random.choice([0, 0, 500]), **more)
        if self.chance(10):
            made += self.put([x[1:]], "wait", made, kind="wait", time=0, **({"view": "(0)"} if self.chance(2) else {}))
        self.values += made

    def block(self, n, depth):
        for _ in range(n):
            choice = self.random.randrange(20)
            if choice < 7:
                self.collective()
            elif choice < 12 and self.pending:
                self.wait(self.random.choice(self.pending))
            elif choice < 16:
                self.work()
            elif choice < 17:
                self.write()
            elif choice < 18:
                self.view()
            elif self.loops and depth < 2:
                outer, waiting, self.pending = list(self.values), self.pending, []
                self.lines.append(f"for i{self.n} in 0..{self.random.randrange(1, 4)} {{")
                self.block(self.random.randrange(2, 12), depth + 1)
                self.lines.append("}")
                self.values, self.pending = outer, waiting
        while self.pending:
            self.wait(self.pending[0])

    def text(self):
        for _ in range(3):
            self.values += self.put([("f32", 16 * self.random.randrange(1, 100))], "input", [], kind="input", time=0)
        self.block(self.random.randrange(4, 40), 0)
        kept = {self.draw() for _ in range(self.random.randrange(4))}
        if kept:
            self.put([], "output", sorted(kept), kind="output", time=0, name='"output"')
        return HEAD + "\n".join(self.lines) + "\n}\n"


class Failed(Exception):
    pass


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done


def simulated(hirc, path, passes=""):
    """Returns bytes and ns."""
    said = json.loads(run(hirc, "sim", path, f"--passes={passes}", "--json").stdout)
    return said["classes"][0]["peak_bytes"], said["step_ns"]


def stated(hirc, path, passes):
    """Returns figures of the program's own block: bytes before, bytes after, ns after."""
    text = run(hirc, "compile", path, f"--passes={passes}", "--remarks").stderr
    for loop, time, unit, after, before in SAID.findall(text):
        if not loop:
            return int(before), int(after), float(time) * (1e3 if unit == "us" else 1e6)
    raise Failed(f"no remark: {text}")


def faults(hirc, path, scheduled, passes, loops):
    run(hirc, "compile", path, f"--passes={passes}", "--dump=hir", "-o", scheduled)
    before, after, ns = stated(hirc, path, passes)
    peak, step = simulated(hirc, scheduled)
    if simulated(hirc, path)[0] != before:
        yield f"as it is sim says {simulated(hirc, path)[0]}, schedule-overlap {before}"
    if simulated(hirc, path, passes) != (peak, step):
        yield f"scheduled sim says {simulated(hirc, path, passes)}, of the dump {(peak, step)}"
    again = stated(hirc, scheduled, "schedule-overlap{effort=0}")[0]
    if peak != again:
        yield f"of the dump sim says {peak}, schedule-overlap {again}"
    if not loops and (peak != after or abs(step - ns) > 1e-6 * ns + 1):
        yield f"scheduled sim says {(peak, step)}, schedule-overlap {(after, ns)}"


def faults_or_failure(*arguments):
    try:
        return list(faults(*arguments))
    except Failed as failure:
        return [str(failure)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hirc")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    bad = buckets = 0
    with tempfile.TemporaryDirectory() as folder:
        path, scheduled = pathlib.Path(folder, "drawn.hir"), pathlib.Path(folder, "scheduled.hir")
        for seed in range(o.seed, o.seed + o.count):
            program = Program(seed)
            path.write_text(program.text())
            mode = ("pack", "pack", "coalesced")[seed % 3]
            passes = f"schedule-overlap{{effort={1 + seed % 2},buckets={mode}}}"
            for fault in faults_or_failure(o.hirc, path, scheduled, passes, program.loops):
                print(f"seed {seed}, {passes}: {fault}")
                bad += 1
            buckets += scheduled.read_text().count("members=")
    print(f"{o.count} programs, {buckets} statements of buckets, {bad} faults")
    sys.exit(bad > 0 or buckets < o.count // 2)


main()
