"""Parts of the small programs that copies.py, arithmetic.py, norms.py and exchanges.py draw around one operation.

A Space has named dims, such as m, n and k of a product. Each mesh axis places one of the dims, or none; a loop may cut
another into blocks. So all tensors over these dims fit: a tensor is a string of dims.

    s = Space(r, "mkn")
    s.plain("mk")    f64[4, 6]                of the source
    s.type("mk")     f64[4@x@stream(2), 6]    of the program
"""
import collections
import math
import random

# others: sources that the program need not compute; limit: of integers that are indices
Drawn = collections.namedtuple("Drawn", "source program limit others", defaults=(7, ()))
Operation = collections.namedtuple("Operation", "row draw")
OPERATIONS = {}
MESHES = [(1,), (2,), (2,), (3,), (4,), (2, 2), (2, 3), (3, 2)]
REAL = ["f64", "f64", "f64", "f32", "bf16"]
NUMBERS = REAL + ["f64", "i64", "i32"]


def operation(row):
    """Adds a function that draws programs to the table, by its name."""
    def add(function):
        OPERATIONS[function.__name__.rstrip("_")] = Operation(row, function)
        return function
    return add


class Space:
    def __init__(self, r, dims, dtypes=("f64",), least=1, whole="", loops=True, mesh=None):
        """least: of extents; whole: dims that are not placed."""
        self.r, self.dtype = r, r.choice(dtypes)
        self.sizes = mesh or r.choice(MESHES)
        self.axes = ["x", "y"][:len(self.sizes)]
        self.ranks = math.prod(self.sizes)
        self.extent = {d: r.randrange(max(least, 1 if r.random() < 0.2 else 2), 7) for d in dims}
        self.places = {d: [] for d in dims}
        free = [d for d in dims if d not in whole]
        for axis in self.axes:
            d = r.choice(free) if free and r.random() < 0.8 else None
            if d:
                self.places[d].append(axis)
        self.loop = r.choice(free) if loops and free and r.random() < 0.4 else None
        self.blocks = r.choice((2, 3))

    def mesh(self):
        devices = list(range(self.ranks))
        if self.r.random() < 0.2 and len(self.sizes) == 1:
            self.r.shuffle(devices)
            return "mesh m(x) = {%s}\n" % " ".join(map(str, devices))
        return "mesh m(%s)\n" % ", ".join("%s = %d" % x for x in zip(self.axes, self.sizes))

    def plain(self, dims, dtype=None):
        return "%s[%s]" % (dtype or self.dtype, ", ".join(str(self.extent.get(d, d)) for d in dims))

    def axis(self, d, placed=True, cut=True):
        text = str(self.extent.get(d, d))
        for axis in self.places.get(d, []) if placed else []:
            text += "@" + axis
        return text + ("@stream(%d)" % self.blocks if cut and d == self.loop else "")

    def type(self, dims, dtype=None, partial="", whole="", reduce=""):
        """whole: dims that the tensor has whole; partial: dims whose sum is pending."""
        axes = [x for d in partial for x in self.places[d]]
        suffix = " partial %s(%s)" % (reduce, ", ".join(sorted(axes))) if axes else ""
        return "%s[%s]%s" % (dtype or self.dtype, ", ".join(self.axis(d, d not in whole) for d in dims),
                             suffix.replace("  ", " ").replace("partial (", "partial("))

    def pending(self, partial):
        return [x for d in partial for x in self.places[d]]

    def input(self, name, dims, dtype=None, reduced=""):
        """Returns the lines of an input of the program. It may be whole where the program needs a block, and lie in
        memory in another order."""
        whole = [d for d in dims if self.r.random() < 0.2 and d != self.loop and d not in reduced]
        lines = ["input %s: %s" % (name, self.type(dims, dtype, whole=whole))]
        if self.r.random() < 0.25 and len(dims) == 2 and not any(self.places.get(d) for d in dims) \
                and (self.loop or "?") not in dims:
            lines.append("schedule %s { allocation (1, 0) }" % name)
        return lines

    def write(self, tensors, statement, result):
        """Returns the lines that write a result, at once or block by block. tensors: dims by name."""
        cut = {name: name.lower() + "0" for name, dims in tensors.items() if (self.loop or "?") in dims}
        if not self.loop or self.loop not in tensors[result]:
            return statement(lambda name: name).split("\n")
        i = self.r.choice(["i", "(i + 1) %% %d" % self.blocks])
        return (["for i in 0..%d {" % self.blocks]
                + ["  %s = shard_by_stream(%s, %s)" % (short, name, i) for name, short in cut.items()]
                + ["  " + line for line in statement(lambda name: cut.get(name, name)).split("\n")] + ["}"])


def text(mesh, lines):
    on = " on m" if mesh else ""
    return mesh + "program p%s {\n" % on + "".join("  %s\n" % line for line in lines) + "}\n"


def local(r, dims, operands, result, call, dtypes=("f64",), whole="", reduced="", reduce="", least=1, types=None,
          stated=False, spare=True, limit=7, out=None):
    """Draws one operation. operands: their dims, by name; call: its text, with the names in braces; reduced: dims that
    the program adds up over ranks; types: dtypes of operands; stated: the source states the result's type; out: dtype
    of the result."""
    s = Space(r, dims, dtypes, least, whole)
    if reduced and r.random() < 0.25:  # all ranks add up
        s.places = {d: list(s.axes) if d == reduced else [] for d in dims}
    if s.loop and (s.loop in reduced or s.pending(reduced) and s.loop != result[0]):
        s.loop = None  # the blocks of a Communication are contiguous
    types = types or {}
    source = ["input %s: %s" % (name, s.plain(d, types.get(name))) for name, d in operands.items()]
    program = [line for name, d in operands.items() for line in s.input(name, d, types.get(name), reduced)]
    if spare and operands:
        name = r.choice(list(operands))
        source.append("input Z: %s" % s.plain(operands[name], types.get(name)))
        program.append("input Z: %s" % s.type(operands[name], types.get(name)))
    source.append("output Y%s = %s" % (": " + s.plain(result, out) if stated or out else "", call.format(
        **{name: name for name in operands})))
    program.append("output Y: %s = allocate()" % s.type(result, out))
    tensors = dict(operands, Y=result)
    pending = s.pending(reduced)
    if pending:
        program.append("P: %s = allocate()" % s.type(result, out, partial=reduced, reduce=reduce))
        tensors["P"] = result

    def statement(name):
        names = {x: name(x) for x in operands}
        if not pending:
            return "%s <- %s" % (name("Y"), call.format(**names))
        axis = pending[0] if len(pending) == 1 else "(%s)" % ", ".join(pending)
        return "%s <- %s\n%s <- allreduce(%s, axis=%s) as c\nwait(c)" % (name("P"), call.format(**names), name("Y"),
                                                                    name("P"), axis)
    program += s.write(tensors, statement, "Y")
    return Drawn(text("", source), text(s.mesh(), program), limit)
