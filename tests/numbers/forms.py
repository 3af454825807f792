"""The parts of a row of the table: forms of an operation, and their expected results.

A form names the axes of operands and results by letters, so that one layout places an axis in all of them:

    Form("matmul({0}, {1})", ["mk", "kn"], ["mn"], ...)      sharded over k: A[m, k@x], B[k@x, n], Y[m, n]

The letter 1 is an axis of extent 1. A form with layouts of its own states them: ["a@x,b"].
"""
import re

import numpy as np

from dtypes import ALL, DTYPES, WIDE

SIZES = {"a": 6, "b": 5, "c": 3, "d": 2, "m": 6, "k": 8, "n": 5, "h": 2, "q": 6, "s": 7, "e": 4, "f": 3}


class Tensor:
    """An operand or result. dtype: its name; None: that of the case. make(t, shape, draw, case): elements; default:
    those of the case's class. pending: the reduction over x that is still to be done; its parts are a last axis of
    the elements."""

    def __init__(self, letters, dtype=None, make=None, pending=None, mesh=None):
        self.axes = []  # (letter, placement or "")
        for text in letters.split(",") if re.search("[@,]", letters) else list(letters):
            letter, at, place = text.strip().partition("@")
            self.axes.append((letter, at + place))
        self.letters = [letter for letter, _ in self.axes]
        self.dtype, self.make, self.pending, self.mesh = dtype, make, pending, mesh
        self.is_placed = any(place for _, place in self.axes)


def tensors(of):
    return [x if isinstance(x, Tensor) else Tensor(x) for x in of]


class Form:
    """call: text with {0}, {1}, … for the operands.
    want(case, operands): Value or Values, of stored operands.
    fixed: letters whose extents are those given; derived: letters whose extents follow, as functions of the others.
    keeps: the sets of operands whose pending sums a result may keep, if the dtype is one of `linear`.
    classes: of values that the form takes; None: all of the dtype.
    few: other layouts and classes say nothing that another form of the row does not.
    fix(case, operands): changes operands of which the operation would be an error; refuses(case): so is all of it.
    before: a statement that makes other operands of these. unit: the operation may stand in one.
    each: element by element, so that those of a tensor may be of all classes.
    sums: over letters that no result has, of which a partial may keep a part.
    not_yet: beginnings of layouts of which hirc says that they are not executed yet."""

    def __init__(self, call, operands, results, want, *, dtypes=ALL, classes=None, sizes=(), fixed="", derived=(),
                 keeps=(), fix=None, few=False, before="", label=None, ranks=(1, 2, 3, 4), unit=False, toward=None,
                 refuses=None, sums=False, each=False, linear=ALL, not_yet=()):
        self.call, self.want, self.dtypes, self.classes = call, want, dtypes, classes
        self.operands, self.results = tensors(operands), tensors(results)
        self.sizes = {**SIZES, **dict(sizes)}
        self.fixed, self.derived, self.keeps, self.fix, self.few = set(fixed), dict(derived), keeps, fix, few
        self.before, self.ranks, self.unit, self.toward, self.refuses = before, ranks, unit, toward, refuses
        self.sums, self.each, self.linear, self.not_yet = sums, each, linear, tuple(not_yet)
        self.is_placed = any(x.is_placed or x.pending or x.mesh for x in self.operands + self.results)
        self.label = label or call.format(*"ABCDEFGH")
        letters = [x for t in self.results + self.operands for x in t.letters]
        self.letters = [x for x in dict.fromkeys(letters) if x != "1"]
        inside = {x for t in self.operands for x in t.letters}
        outside = {x for t in self.results for x in t.letters}
        self.contracted = [x for x in self.letters if x in inside and x not in outside]


class Row:
    """An operation with its forms. note: where hir(5) defines another result than NumPy's function."""

    def __init__(self, op, forms, note=""):
        self.op, self.forms, self.note = op, forms, note


# ---- results


class Value:
    """An expected result: `stored` elements; or v, rounded once to the dtype, with a tolerance of err. either_zero: 0
    and -0 are equal. skip: elements that hir(5) leaves open."""

    def __init__(self, v=None, err=None, stored=None, either_zero=False, skip=None):
        self.v, self.err, self.stored, self.either_zero, self.skip = v, err, stored, either_zero, skip


def stored(a):
    return Value(stored=a)


def unit_roundoff(t):
    """Returns the unit roundoff of the type that t is computed in."""
    return WIDE(2) ** (-53 if t.wide == np.float64 else -24)


def wide_of(t):
    return DTYPES["f64" if t.wide == np.float64 else "f32"]


def least(t):
    return wide_of(t).least


def near(t, v, ulps, absolute=0):
    """Returns v, in more precision than t, with an error; exact if the error is 0."""
    v = np.asarray(v, WIDE)
    with np.errstate(all="ignore"):
        err = np.where(np.isfinite(v) & (v != 0), ulps * np.maximum(2 * unit_roundoff(t) * np.abs(v), least(t)), 0)
    return Value(v, err + absolute)


def widest(t, a):
    return t.load(a).astype(WIDE)


def wrong_elements(t, value, got):
    """Returns a mask of the wrong elements of `got`, stored as dtype t."""
    if value.stored is not None:
        want = value.stored
        low = high = None
    else:
        want = t.store(value.v)
        low = high = None
        if value.err is not None and np.any(value.err):
            with np.errstate(all="ignore"):
                v = np.asarray(value.v).astype(WIDE)
                low, high = t.store(v - value.err), t.store(v + value.err)
    g, w = t.load(got), t.load(want)
    same = (g == w) | (np.isnan(g) & np.isnan(w)) if t.kind == "float" else g == w
    if t.kind == "float" and not value.either_zero:
        same &= (np.signbit(g) == np.signbit(w)) | np.isnan(w)
    if low is not None:
        lo, hi = t.load(low), t.load(high)
        if t.kind == "float":
            between = ~((g < lo) | (g > hi)) & ~np.isnan(g) | np.isnan(g) & (np.isnan(lo) | np.isnan(hi))
        else:
            between = (g >= lo) & (g <= hi)
        same |= (np.broadcast_to(value.err, g.shape) > 0) & between
    if value.skip is not None:
        same = same | value.skip
    return ~same, want


def sum_of_parts(t, values, ranks):
    """Returns the sum over ranks of results that are each stored in dtype t."""
    if t.kind != "float":
        total = sum(t.load(part_stored(t, v)) for v in values)
        return Value(total)
    parts = [widest(t, part_stored(t, v)) for v in values]
    with np.errstate(all="ignore"):
        v = sum(parts[1:], parts[0])
        v = np.where(np.all([np.signbit(p) & (p == 0) for p in parts], axis=0), -WIDE(0), v)
        mag = sum(np.abs(p) for p in parts)
        count = np.sum([p != 0 for p in parts], axis=0)
        err = np.where(np.isfinite(mag) & (count > 1), ranks * unit_roundoff(t) * mag, 0)
        for value, part in zip(values, parts):
            if value.err is not None:
                half = np.maximum(np.abs(part) * WIDE(2) ** -(t.mantissa + 1), t.least)
                err = err + np.where(value.err > 0, value.err + half, 0)
        err = np.where(np.isfinite(v), err, 0)
    skip = None
    for value in values:
        if value.skip is not None:
            skip = value.skip if skip is None else skip | value.skip
    exact = all(value.err is None or not np.any(value.err) for value in values)
    return Value(v, None if exact and not np.any(count > 1) else err, skip=skip,
                 either_zero=any(value.either_zero for value in values))


def part_stored(t, value):
    return value.stored if value.stored is not None else t.store(value.v)
