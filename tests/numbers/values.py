"""Values of operands, by class.

    small       integers from -4 to 4, of which sums and products are exact
    random      floats: normal with several exponents; integers: any
    nan, inf    among random ones
    zeros       0 and -0, with a few small integers
    subnormals  of all sizes, the least and the largest one, with a few small integers
    largest     the largest and the smallest values of the dtype and their halves
    special     one of the others for each element: where an operation takes elements one by one
    ties        of cast: halfway between two values of the result's dtype, and its limits

Arrays are of stored elements, see dtypes.py.
"""
import numpy as np

from dtypes import DTYPES, WIDE

OF_FLOATS = ("small", "random", "nan", "inf", "zeros", "subnormals", "largest")
OF_INTS = ("small", "random", "largest")


def classes(t):
    """Returns the classes that a dtype has."""
    if t.kind == "bool":
        return ("random",)
    if t.kind == "int":
        return OF_INTS
    return OF_FLOATS if t.inf else tuple(c for c in OF_FLOATS if c != "inf")


def make(t, kind, shape, draw, toward=None):
    """Makes elements of class `kind`. toward: the dtype whose ties they are."""
    if t.kind == "bool":
        return draw.random(shape) < 0.5
    if kind == "ties":
        return ties(t, toward, shape, draw)
    return (of_floats if t.kind == "float" else of_ints)(t, kind, shape, draw)


def mix(draw, shape, parts):
    """Takes each element from one of the parts, (probability, array), at random."""
    out, left = np.asarray(parts[-1][1]), draw.random(shape)
    out = out.astype(np.result_type(*(values for _, values in parts)), copy=False)
    for probability, values in parts[:-1]:
        out = np.where((left >= 0) & (left < probability), values, out)
        left = left - probability
    return out


def signs(draw, shape):
    return np.where(draw.random(shape) < 0.5, -1.0, 1.0)


def of_floats(t, kind, shape, draw):
    small = draw.integers(-4, 5, shape).astype(WIDE)
    if kind == "small":
        return t.store(small)
    if kind == "special":
        others = [k for k in classes(t) if k != "random"]
        return mix(draw, shape, [(1 / len(others), of_floats(t, k, shape, draw)) for k in others])
    ordinary = draw.normal(size=shape) * 2.0 ** draw.integers(-3, 3, shape)
    if kind == "random":
        return t.store(ordinary)
    if kind == "nan":
        return t.store(mix(draw, shape, [(0.25, np.copysign(np.nan, signs(draw, shape))), (1, ordinary)]))
    if kind == "inf":
        return t.store(mix(draw, shape, [(0.15, np.inf), (0.15, -np.inf), (1, ordinary)]))
    if kind == "zeros":
        return t.store(mix(draw, shape, [(0.35, -0.0), (0.35, 0.0), (1, small)]))
    sign = signs(draw, shape)
    if kind == "subnormals":
        any_of_them = np.rint(draw.random(shape) * t.least_normal / t.least) * t.least
        return t.store(sign * mix(draw, shape, [
            (0.4, any_of_them), (0.15, t.least), (0.1, t.least_normal - t.least), (0.1, t.least_normal),
            (0.1, t.least_normal * 2), (1, np.abs(small))]))
    below = t.largest - t.largest * WIDE(2) ** -t.mantissa
    return t.store(sign * mix(draw, shape, [
        (0.4, t.largest), (0.15, t.largest / 2), (0.15, below), (0.15, np.sqrt(t.largest)), (1, np.abs(ordinary))]))


def of_ints(t, kind, shape, draw):
    if kind == "small":
        return draw.integers(-4 if t.low else 0, 5 if t.low else 9, shape).astype(t.stored)
    if kind == "random":
        return draw.integers(t.low, t.high, shape, dtype=t.stored, endpoint=True)
    pick = np.array([t.low, t.low + 1, t.high, t.high - 1, 0, 1, t.high // 2 + 1, -1 if t.low else 2]).astype(t.stored)
    return pick[draw.integers(0, len(pick), shape)]


def ties(t, toward, shape, draw):
    """Makes ties. For i64 and i32: values that a rounding to two bits more than `toward` would change."""
    if toward.kind == "bool":
        return make(t, "small", shape, draw)
    if toward.kind == "int":
        edges = [toward.low, toward.high, 0]
        x = np.array([WIDE(e) + d for e in edges for d in (-1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5)])
        x = x[draw.integers(0, len(x), shape)]
    else:
        m = WIDE(1) * draw.integers(1 << toward.mantissa, 2 << toward.mantissa, shape)
        e = draw.integers(-toward.bias - toward.mantissa, toward.bias + 2, shape) - toward.mantissa
        if t.kind == "int":
            e = draw.integers(0, max(1, 8 * t.bytes - toward.mantissa), shape)
        nudge = mix(draw, shape, [(0.5, WIDE(0)), (0.25, WIDE(2) ** -12), (1, -WIDE(2) ** -12)])
        x = signs(draw, shape) * np.ldexp(m + WIDE(0.5) + nudge, e)
        x = mix(draw, shape, [(0.1, signs(draw, shape) * toward.largest * (1 + WIDE(2) ** -(toward.mantissa + 2))),
                              (1, x)])
    return t.store(np.clip(x, t.low, t.high) if t.kind == "int" else x)


def shifts(t, shape, draw):
    """Makes counts of shifts: below the width, and some that are negative or not below it."""
    width = 8 * t.bytes
    counts = draw.integers(0, width, shape)
    far = draw.choice([width, width + 1, 100, t.high] + ([-1, -width, t.low] if t.low else []), shape)
    return mix(draw, shape, [(0.75, counts), (1, far)]).astype(np.int64).astype(t.stored)


def indices(t, shape, draw, extent):
    """Makes indices of an axis."""
    return draw.integers(0, min(extent, 127), shape).astype(t.stored)


def parts_of(t, whole, ranks, draw, kind):
    """Makes the parts of a pending sum, as a last axis; their sum is exact in every order. Small values are sums of a
    few parts; of others one rank has the element, and the other ranks have 0."""
    parts = np.zeros(whole.shape + (ranks,), whole.dtype)
    if kind == "small" and t.kind != "bool":
        few = draw.integers(-1, 2, whole.shape + (ranks - 1,))
        parts[..., :-1] = t.store(few)
        parts[..., -1] = t.store(t.load(whole) - np.sum(few, -1))
        return parts
    owner = draw.integers(0, ranks, whole.shape)
    if whole.size:
        np.put_along_axis(parts, owner[..., None], whole[..., None], -1)
    return parts
