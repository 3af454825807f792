"""Cases: one form of a row, in one dtype, layout, class of values and number of ranks; as text of hir(5) and as arrays."""
import zlib

import numpy as np

import layouts
import values
from dtypes import DTYPES
from forms import Value, sum_of_parts, wrong_elements
from operations import ROWS

FEW_CLASSES = ("small", "random", "nan", "special", "ties")
OF_PENDING = ("small", "random", "nan", "inf", "special")


class Case:
    def __init__(self, row, number, form, t, layout, kind, ranks, seed):
        self.row, self.form, self.t, self.layout, self.kind, self.ranks = row, form, t, layout, kind, ranks
        self.name = f"{row.op}/{number}/{t.name}/{layout.name}/{kind}/{ranks}"
        self.seed = zlib.crc32(f"{seed} {self.name}".encode())
        self.keepdims = "keepdims=true" in form.call
        free = {x: n for x, n in layout.extents.items() if x not in form.fixed}
        self.extents = {**form.sizes, **free, "1": 1, "np": ranks}
        for x, of in form.derived.items():
            self.extents[x] = of(self.extents)
        self.is_not_yet = layout.name.startswith(form.not_yet)
        self.is_split = ranks > 1 and any("@x" in layout.place("operand", k, x)
                                          for k, t in enumerate(form.operands) for x in t.letters if x in form.contracted)

    def reduces(self):
        """Returns true if ranks add up their values or find a maximum among them."""
        return self.ranks > 1 and (self.is_split or any(self.is_pending(k) for k in range(len(self.form.operands))))

    # ---- types

    def dtype_of(self, tensor):
        return DTYPES[tensor.dtype] if tensor.dtype else self.t

    def result_dtype(self, k):
        return self.dtype_of(self.form.results[k])

    def shape_of(self, tensor):
        return tuple(self.extents[x] for x in tensor.letters)

    def result_shape(self, k):
        return self.shape_of(self.form.results[k])

    def is_pending(self, k):
        return self.form.operands[k].pending or k in self.layout.pending

    def type_text(self, of, k, tensor, pending=None):
        axes = [f"{self.extents[x]}{place or self.layout.place(of, k, x)}" for x, place in tensor.axes]
        text = f"{self.dtype_of(tensor)}[{', '.join(axes)}]"
        if pending:
            text += f" partial {pending}(x)" if pending != "sum" else " partial(x)"
        return text + (f" on {tensor.mesh}" if tensor.mesh else "")

    # ---- text

    def inputs(self, number):
        return [f"{chr(65 + k)}{number}" for k in range(len(self.form.operands))]

    def outputs(self, number):
        return [f"{chr(89 - k)}{number}" for k in range(len(self.form.results))]

    def statements(self, number):
        form, names, results = self.form, self.inputs(number), self.outputs(number)
        lines = []
        for k, (name, tensor) in enumerate(zip(names, form.operands)):
            pending = tensor.pending or ("sum" if k in self.layout.pending else None)
            lines.append(f"input {name}: {self.type_text('operand', k, tensor, pending)}")
        extents = ", ".join(str(n) for n in self.result_shape(0))
        words = {**self.extents, "i": number, "r": extents, "ranks": self.ranks, "experts": 2 * self.ranks,
                   "team": " ".join(map(str, range(self.ranks)))}
        if form.before:
            lines.append(form.before.format(*names, **words))
        call = form.call.format(*names, **words)
        types = [self.type_text("result", k, t) for k, t in enumerate(form.results)]
        if self.layout.unit:
            lines += [f"output {results[0]}: {types[0]} = allocate()", "unit {", f"  {results[0]} <- {call}", "}"]
        elif self.layout.kept:
            kept = [f"P{k}_{number}" for k in range(len(results))]
            stated = [self.type_text("kept", k, t, "sum") for k, t in enumerate(form.results)]
            lines.append(", ".join(f"{p}: {s}" for p, s in zip(kept, stated)) + f" = {call}")
            lines += [f"output {y}: {s} = set({p})" for y, s, p in zip(results, types, kept)]
        else:
            lines.append("output " + ", ".join(f"{y}: {s}" for y, s in zip(results, types)) + f" = {call}")
        return lines

    # ---- arrays

    def operands(self):
        """Returns operands as written to files; a pending one has its parts as a last axis."""
        draw = np.random.default_rng(self.seed)
        out = []
        for k, tensor in enumerate(self.form.operands):
            t, shape = self.dtype_of(tensor), self.shape_of(tensor)
            if tensor.pending:
                shape += (self.ranks,)
            if tensor.make:
                out.append(tensor.make(t, shape, draw, self))
                continue
            out.append(values.make(t, self.kind if t is self.t or self.kind != "ties" else "random", shape, draw,
                                   self.form.toward))
        if self.form.fix:
            with np.errstate(all="ignore"):
                self.form.fix(self, out)
        for k in self.layout.pending:
            out[k] = values.parts_of(self.t, out[k], self.ranks, np.random.default_rng(self.seed + 1), self.kind)
        return [np.asarray(a, order="C") for a in out]

    def files(self, operands):
        """A pending input of one rank has no axis of parts."""
        return [a[..., 0] if self.ranks == 1 and self.is_pending(k) else a for k, a in enumerate(operands)]

    def wants(self, operands):
        """Returns the allowed results: lists of Values, one for each order of operation and pending sum that is
        allowed."""
        pending, whole = self.layout.pending, []
        if not pending:
            whole = self.form.want(self, operands)
        elif not self.layout.kept:
            with np.errstate(all="ignore"):
                whole = self.form.want(self, [self.t.store(self.summed(a)) if k in pending else a
                                              for k, a in enumerate(operands)])
        found = [whole] if whole else []
        if pending in self.form.keeps and self.t.name in self.form.linear:
            parts = [self.form.want(self, [a[..., r] if k in pending else a for k, a in enumerate(operands)])
                     for r in range(self.ranks)]
            found.append(sum_of_parts(self.result_dtype(0), parts, self.ranks))
        return [[x] if isinstance(x, Value) else x for x in found]

    def summed(self, parts):
        """Sums in the wide type; exact, except that 0 and -0 are equal."""
        x = self.t.load_wide(parts)
        return np.add.reduce(x, -1)

    def wrong(self, operands, results):
        """For the first result with wrong elements, returns its number, how many are wrong, the first index, got and
        want; None: all are right."""
        for k, got in enumerate(results):
            t, wrong = self.result_dtype(k), True
            for these in self.wants(operands):
                value = these[k]
                mask, want = (np.broadcast_to(x, got.shape) for x in wrong_elements(t, value, got))
                wrong = wrong & mask
            if np.any(wrong):
                at = tuple(int(i) for i in np.argwhere(wrong)[0])
                of = [show(self.dtype_of(x), a[at]) for x, a in zip(self.form.operands, operands)
                      if a.shape == got.shape and self.form.each]
                want = show(t, want[at]) + bounds(t, value, at, got.shape)
                return k, int(np.sum(wrong)), at, show(t, got[at]) + f" of {' and '.join(of)}" * bool(of), want
        return None

    def __str__(self):
        return (f"{self.form.label}, {self.t}, {self.layout.name}, {self.kind}, {self.ranks} "
                f"rank{'s' * (self.ranks > 1)}")


def show(t, element):
    x = t.load(np.asarray(element))[()]
    if t.kind != "float":
        return str(int(x)) if t.kind == "int" else str(bool(x)).lower()
    return repr(float(x))


def bounds(t, value, at, shape):
    if value.stored is not None or value.err is None or not np.any(value.err):
        return ""
    v, err = (np.broadcast_to(x, shape)[at] for x in (np.asarray(value.v), value.err))
    return f" ± {float(err):.2g}" if err else f" (from {float(v):.9g})" if t.kind == "float" else ""


def classes_of(form, t):
    have = values.classes(t)
    if t.kind == "bool":
        return have
    if form.each and t.kind == "float":
        have = ("small", "random", "special")
    if form.classes:
        more = ("special", "largest", "ties") if t.kind == "float" else ("ties",)
        have = tuple(k for k in have + tuple(x for x in more if x not in have) if k in form.classes) or have[:1]
    if form.few:
        have = tuple(k for k in have if k in FEW_CLASSES) or have[:1]
    return have


def of(seed, only=None):
    """Yields all cases whose name has the prefix `only`."""
    wanted = only.split("/") if only else []
    for row in ROWS:
        if wanted and row.op != wanted[0]:
            continue
        for number, form in enumerate(row.forms):
            if len(wanted) > 1 and wanted[1] not in ("", str(number)):
                continue
            for ranks in form.ranks:
                for layout in layouts.of(form, ranks):
                    yield from of_layout(row, number, form, layout, ranks, seed, wanted)


def of_layout(row, number, form, layout, ranks, seed, wanted):
    not_yet = layout.name.startswith(form.not_yet)
    for name in form.dtypes[:1] if not_yet else form.dtypes:
        t = DTYPES[name]
        kinds = classes_of(form, t)[:1 if not_yet else None]
        if layout.name.startswith(("zero:", "one:")):
            kinds = kinds[:1]
        elif layout.pending:
            kinds = [k for k in kinds if k in OF_PENDING] or kinds[:1]
        for kind in kinds:
            have = [row.op, str(number), name, layout.name, kind, str(ranks)]
            if any(w and w != h for w, h in zip(wanted, have)):
                continue
            case = Case(row, number, form, t, layout, kind, ranks, seed)
            if layout.kept and layout.pending and name not in form.linear:
                continue
            if not (form.refuses and form.refuses(case)):
                yield case
