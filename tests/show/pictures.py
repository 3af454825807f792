#!/usr/bin/env python3
"""Looks at the pictures of `hirc show` as a reader does: usage `pictures.py HIRC`.

Each is well-formed XML that names nothing outside it. No two labels overlap. Labels, rectangles and lines are inside
the viewBox, which is no larger than a picture of its size may be; labels of rectangles are inside them. Labels use a
font of one width, 0.61 of its size, which is wider than the fonts of systems.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

ADVANCE = 0.602
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAME = "{http://www.w3.org/2000/svg}"

GRID = """mesh grid(y = {0}, x = {1})
program grids on grid {{
  input X: f32[{2}@x, 1000]
  input A: f32[64@y, 48, 40] partial max(x)
  G: f32[{2}, 1000@y@x] = set(X)
  output Y = relu(G)
}}
"""
GRID_SUM = """mesh grid(y = {0}, x = {1})
program sums on grid {{
  input S: bf16[1000@y, 17] partial(x)
  R: bf16[1000@y@x, 17] = set(S)
  T: bf16[1000, 17@x] = set(R)
  output Y = relu(T)
}}
"""
LONG_NAMES = """const np = 2
mesh ring(a_mesh_axis_whose_name_is_rather_long = np)
program a_program_whose_name_alone_would_fill_the_better_part_of_a_line_of_a_terminal_and_goes_on_and_on on ring {
  input activations_before_the_second_norm_of_the_last_layer: f32[96@a_mesh_axis_whose_name_is_rather_long, 24]
  gathered_in_a_ring: f32[96@swizzle1d(a_mesh_axis_whose_name_is_rather_long), 24] = set(activations_before_the_second_norm_of_the_last_layer)
  output the_result_<&>: f32[96@swizzle1d(a_mesh_axis_whose_name_is_rather_long), 24] = relu(gathered_in_a_ring)
}
""".replace("the_result_<&>", "`the_result_<&>`")


def columns(text):
    return sum(2 if ord(c) >= 0x3000 else 1 for c in text)


class Picture:
    def __init__(self, name, text):
        self.name = name
        self.faults = []
        self.labels = []
        root = ET.fromstring(text)
        if re.search(r"(href|url\(|<script|<image|@import)", text):
            self.fault("it names something outside")
        if "prefers-color-scheme:dark" not in text:
            self.fault("it has no dark half")
        left, top, self.width, self.height = map(float, root.get("viewBox").split())
        if (left, top) != (0, 0):
            self.fault("its viewBox does not begin at 0")
        for element in root.iter():
            self.look(element)
        self.overlaps()

    def fault(self, text):
        self.faults.append(f"{self.name}: {text}")

    def inside(self, what, left, top, right, bottom):
        if left < 0 or top < 0 or right > self.width or bottom > self.height:
            self.fault(f"{what} ({left:.0f} {top:.0f} {right:.0f} {bottom:.0f}) is not in "
                       f"{self.width:.0f} by {self.height:.0f}")

    def look(self, element):
        get = lambda key: float(element.get(key, "0"))
        kind = element.tag.replace(NAME, "")
        if kind == "rect":
            if get("width") < 0 or get("height") < 0:
                self.fault("a rectangle of negative size")
            self.inside("a rectangle", get("x"), get("y"), get("x") + get("width"), get("y") + get("height"))
        elif kind == "line":
            self.inside("a line", min(get("x1"), get("x2")), min(get("y1"), get("y2")),
                        max(get("x1"), get("x2")), max(get("y1"), get("y2")))
        elif kind == "path":
            numbers = [float(x) for x in re.findall(r"-?[0-9.]+", element.get("d"))]
            if re.fullmatch(r"[MCLZ0-9. -]+", element.get("d")):
                self.inside("a curve", min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2]))
        elif kind == "text":
            size = get("font-size")
            width = columns(element.text) * size * ADVANCE
            left = get("x") - {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor")] * width
            box = (left, get("y") - 0.75 * size, left + width, get("y") + 0.2 * size)
            self.inside(f"'{element.text}'", *box)
            if element.text.endswith("…") and element.find(NAME + "title") is None:
                self.fault(f"'{element.text}' is nowhere whole")
            self.labels.append((box, element.text))

    def overlaps(self):
        order = sorted(self.labels)
        for k, (a, text) in enumerate(order):
            for b, other in order[k + 1:]:
                if b[0] >= a[2]:
                    break
                if a[1] < b[3] and b[1] < a[3] and b[0] < a[2] and a[0] < b[2]:
                    self.fault(f"'{text}' and '{other}' overlap at {b[0]:.0f} {b[1]:.0f}")


def shown(hirc, program, arguments, source=None):
    command = [hirc, "show", program, "--format=svg", *arguments]
    done = subprocess.run(command, input=source, capture_output=True, text=True, cwd=ROOT)
    name = " ".join(command[1:])
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}\n{done.stderr}")
    return Picture(name, done.stdout)


def pictures(hirc):
    few = bool(os.environ.get("HIRC_FEW"))
    for ranks in (1, 4, 64) if few else (1, 2, 3, 8, 16, 64):
        for program, tensors in (("ag_matmul", "G W"), ("matmul_reduce_scatter", "Y"), ("row_parallel_linear", "X")):
            for tensor in tensors.split():
                yield shown(hirc, f"examples/{program}.hir", [f"--np={ranks}", f"--layout={tensor}"])
    for ranks in (1, 4, 64) if few else (1, 2, 3, 5, 8, 16, 33, 64):
        for program in ("column_parallel_ring", "ag_matmul", "matmul_reduce_scatter", "row_parallel_linear"):
            yield shown(hirc, f"examples/{program}.hir", [f"--np={ranks}", "--pipeline"])
        yield shown(hirc, "examples/ag_matmul.hir", [f"--np={ranks}", "--pipeline=p2p"])
        for picture in ("--pipeline", "--graph", "--timeline"):
            yield shown(hirc, "-", [f"--np={ranks}", picture], LONG_NAMES)
        yield shown(hirc, "examples/ag_matmul.hir", [f"--np={ranks}", "--graph", "--pipeline=p2p"])
    for sizes in ((2, 2, 10), (1, 1, 4), (3, 5, 100000), (8, 8, 63), (2, 32, 1)):
        for tensor in ("X", "G", "A"):
            yield shown(hirc, "-", [f"--layout={tensor}"], GRID.format(*sizes))
        for tensor in ("S", "R", "T", "S,T" if sizes[1] == 1 else "R,T"):
            yield shown(hirc, "-", [f"--layout={tensor}"], GRID_SUM.format(*sizes))
    for program in ("transformer_layer", "moe_layer", "pipeline_stages", "mesh_axes", "fsdp_transformer_backward"):
        yield shown(hirc, f"examples/{program}.hir", ["--graph", "--rank=1"])
        yield shown(hirc, f"examples/{program}.hir", ["--timeline"])
    for limit in ("7M", "8M", "1G"):
        yield shown(hirc, "tests/sim/two_layers.graph",
                    ["--timeline", "--passes=schedule-overlap", f"--memory-limit={limit}"])
    for tensor in ("X", "Gy", "A", "Az"):
        yield shown(hirc, "examples/mesh_axes.hir", [f"--layout={tensor}"])


def main():
    count, faults = 0, []
    for picture in pictures(os.path.abspath(sys.argv[1])):
        count += 1
        faults += picture.faults
    print("\n".join(faults[:40]))
    print(f"{count} pictures, {len(faults)} faults")
    sys.exit(bool(faults))


main()
