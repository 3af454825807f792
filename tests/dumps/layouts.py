#!/usr/bin/env python3
"""Reads listings of random layouts, numbered as nvFuser numbers axes, and compares the shapes with the known ones.

    layouts.py FIRST LAST                  the seeds
    layouts.py FIRST LAST --left-out       each listing lacks some of the tensors that nvFuser has numbered
    layouts.py FIRST LAST --streams        streams stand for devices, and are as many

A listing that is read wrongly must come with the warning W0328. Prints a line for each that does not.
"""
import random
import re
import subprocess
import sys
import tempfile

EXTENTS = [48, 96, 144, 192, 288]  # all factors divide them


class Listing:
    def __init__(self, seed, left_out, streams):
        self.random = random.Random(seed)
        self.parallel = "streamIdx" if streams else "deviceIdx.x"
        self.next = 0
        self.devices = self.random.choice([2, 4])
        self.factor = self.random.choice([2, 3, 4])
        shape = [f"i{2 * i}" if self.random.random() < 0.3 else self.random.choice(EXTENTS)
                 for i in range(self.random.choice([1, 2, 3, 4]))]
        self.kind = self.random.choice(["own", "outer", "outer", "inner", "outer again", "inner again", "twice"])
        self.axis = self.random.randrange(len(shape))
        self.front = self.random.random() < 0.5
        self.shapes, self.axes = [], []
        tensors = range(self.random.choice([2, 3, 4] if left_out else [1, 2, 3]))
        late = self.random.random() < 0.6  # all tensors are made before the first is split
        for _ in tensors:
            self.make(list(shape))
            if not late:
                self.split(len(self.axes) - 1)
        for t in tensors if late else []:
            self.split(t)
        self.listed = list(tensors)
        if left_out:
            self.listed = sorted(self.random.sample(self.listed, self.random.randrange(1, len(tensors))))

    def make(self, shape):
        self.shapes.append(shape)
        self.axes.append([["S", self.next + i, e] for i, e in enumerate(shape)])
        self.next += len(shape)

    def split(self, t):
        axes, at = self.axes[t], self.axis
        device, stream = self.parallel, "streamIdx"
        if self.kind == "own":
            axes[at][0], axes[at][2] = device, self.devices
            self.shapes[t][at] = self.devices
        elif self.kind in ("outer", "twice"):
            self.halve(axes, at, self.devices, False)
            axes[at][0] = device
            if self.kind == "twice":
                self.halve(axes, at + 1, self.factor, False)
                axes[at + 1][0] = stream
        else:
            self.halve(axes, at, 2 * self.devices if self.kind == "inner again" else self.devices, True)
            at += self.kind != "outer again"
            if self.kind != "inner":
                self.halve(axes, at, self.devices, False)
            axes[at][0] = device
        if self.front:
            axes.sort(key=lambda axis: axis[0] == "S")

    def halve(self, axes, at, factor, inner):
        extent = axes[at][2]
        rest = f"( ceilDiv({extent}, {factor}) )" if isinstance(extent, str) else extent // factor
        outer, last = (rest, factor) if inner else (factor, rest)
        axes[at:at + 1] = [["S", self.next, outer], ["S", self.next + 1, last]]
        self.next += 2

    def tensor(self, t):
        axes = ", ".join(f"i{place}{number}{{{extent}}}" for place, number, extent in self.axes[t])
        return f"T{t}_g_float[{axes}] (DeviceMesh{{{' '.join(map(str, range(self.devices)))}}})"

    def text(self):
        listed = self.listed
        lines = [f"%HostIrContainer {{ ({self.tensor(listed[0])}) -> ({self.tensor(listed[-1])}) :"]
        for before, t in zip(listed, listed[1:]):
            lines += [f"  {self.tensor(t)}", f"     = relu({self.tensor(before)})"]
        return "\n".join(lines + ["} // %HostIrContainer", ""])


def shape_of(program, name):
    """Returns the extents of a tensor in the concise surface, without their placements."""
    text = re.search(rf"\b{name}: f32\[(.*?)\](?: =|$)", program, re.M).group(1)
    return [part.split("@")[0] for part in re.split(r", (?![^(]*\))", text)]


def check(seed):
    listing = Listing(seed, "--left-out" in sys.argv, "--streams" in sys.argv)
    with tempfile.NamedTemporaryFile("w", suffix=".hostir") as file:
        file.write(listing.text())
        file.flush()
        ran = subprocess.run(["hirc", "compile", file.name, "--stop-after=parse", "--dump=hir"],
                             capture_output=True, text=True)
    if ran.returncode:
        return f"{seed}: refused\n{listing.text()}{ran.stderr}"
    for t in listing.listed:
        read, shape = shape_of(ran.stdout, f"T{t}"), listing.shapes[t]
        if read != [str(e) for e in shape] and "W0328" not in ran.stderr:
            return f"{seed}: T{t} is {shape}, and read as {read}\n{listing.text()}"
    return None


def main():
    wrong = [line for line in map(check, range(int(sys.argv[1]), int(sys.argv[2]))) if line]
    print("\n".join(wrong) if wrong else "no listing is read wrongly without a warning")


main()
