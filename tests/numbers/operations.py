"""THE table: a row for each operation of src/ir/ops.def that computes or moves values.

A row has the operation's forms, each with its operands and results, the dtypes that it takes, and NumPy's result; and
a note if hir(5) defines another result than NumPy. EXEMPT has the operations without a row, with the reason.
missing() compares both with ops.def: an operation that is added there needs a row here.

How a result is compared follows from the value that a form's want() gives:

    Value(v)          v is computed in the wide type (f64 for f64, f32 for other floats, i64), and is rounded once:
                      exactly these bits; any NaN equals a NaN
    Value(v, err)     v is more precise; got may be what rounds from v - err to v + err. Functions: some units in the last
                      place of the wide type; sums: n roundings of the sum of magnitudes
    Value(stored=x)   elements that are moved: exactly these
"""
import math
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import values
import vocabulary
from dtypes import ALL, DTYPES, FLOATS, INTS, NUMBERS, WIDE
from forms import Form, Row, Tensor, Value, least, near, stored, unit_roundoff, wide_of, widest

ROWS = []
EXEMPT = {
    "send": "moves what the program says between buffers: tests/run and tests/vary/programs",
    "recv": "as send",
    "post": "issues a send or recv",
    "share_mem_handles": "moves no values",
    "start_coalescing": "moves no values; tests/vary/collectives",
    "end_coalescing": "as start_coalescing",
    "wait": "moves no values",
    "get_current_stream": "moves no values",
    "set_stream": "moves no values",
    "synchronize": "moves no values",
    "allocate": "has no defined values; with zero_init= tests/run",
    "deallocate": "moves no values",
    "shard_by_stream": "a view: the layouts stream: and both: read and write through it",
    "symmetric_view": "a view of other ranks' memory, of host-level programs: tests/run",
    "pack": "its result is in an order of memory, which no type says; back by unpack: tests/vary/collectives",
    "unpack": "as pack",
    "for": "control", "if": "control",
    "unit": "control: the layouts unit: are blocks of it", "launch_kernel": "as unit",
    "extern": "not run",
}
ANY = ("random", "special")  # classes for elements that are only moved
PRECISE_ULPS = 4  # for functions of f64
on_gpu = False  # there, functions of f32 and narrower types are CUDA's; elsewhere they use more than f32


def ulps_of(t):
    return PRECISE_ULPS if t.name == "f64" else 8 if on_gpu else 2


def row(op, *forms, note=""):
    ROWS.append(Row(op, forms, note))


def missing():
    """Returns the differences between ops.def and the table, as lines."""
    ops = [name for name, _, _ in vocabulary.operations()]
    have = {r.op for r in ROWS}
    return ([f"{op} has no row in tests/numbers/operations.py" for op in ops if op not in have and op not in EXEMPT] +
            [f"{op} has a row and is exempt" for op in ops if op in have and op in EXEMPT] +
            [f"{op} is not in ops.def" for op in sorted(have | set(EXEMPT)) if op not in ops])


# ---- pointwise


def wides(case, operands, count=None):
    """Returns operands in the type that hirc computes in."""
    return [case.t.load_wide(a) for a in operands[:count]]


def exact(function, either_zero=False):
    """Returns a function of operands in the wide type, which NumPy rounds correctly."""
    def want(case, operands):
        with np.errstate(all="ignore"):
            return Value(function(*wides(case, operands)), either_zero=either_zero)
    return want


def by_kind(of_floats, of_ints):
    return lambda a, *rest: (of_ints if a.dtype == np.int64 else of_floats)(a, *rest)


def both_forms(op, want, **more):
    """Returns two operands in a form with one whose axes are widened, and in a form with a number."""
    numbers = more.pop("numbers", ("3", "0.3"))
    forms = [Form(f"{op}({{0}}, {{1}})", ["ab", "ab"], more.get("result", ["ab"]), want,
                  **{k: v for k, v in more.items() if k != "result"}, each=True, unit=True)]
    few = {k: v for k, v in more.items() if k not in ("result", "keeps")}
    alone = {k: v for k, v in few.items() if k not in ("fix", "linear")}
    results = more.get("result", ["ab"])
    forms.append(Form(f"{op}({{0}}, {{1}})", ["ab", "b"], results, want, each=True, few=True, label=f"{op}(ab, b)", **few))
    forms.append(Form(f"{op}({{0}}, {{1}})", ["a1", "ab"], results, want, each=True, few=True, label=f"{op}(a1, ab)", **few))
    for text in numbers:
        alone["dtypes"] = [d for d in more.get("dtypes", ALL) if DTYPES[d].kind != "bool" and
                           (text.isdigit() or DTYPES[d].kind == "float")]
        forms.append(Form(f"{op}({{0}}, {text})", ["ab"], results, with_number(want, float(text)), each=True, few=True,
                          **alone))
    return forms


def with_number(want, x):
    """Gives a number the dtype of the other operand."""
    def inner(case, operands):
        number = np.full(operands[0].shape, x)
        return want(case, [operands[0], case.t.store(number if case.t.kind == "float" else number.astype(np.int64))])
    return inner


def divide(a, b):
    if a.dtype != np.int64:
        return a / b
    safe = np.where((b == 0) | (b == -1), 1, b)
    q = a // safe
    q = q + ((a - q * safe != 0) & ((a < 0) != (safe < 0)))
    return np.where(b == -1, np.int64(0) - a, q)


def modulo(a, b):
    if a.dtype == np.int64:
        return np.where((b == -1) | (b == 0), 0, np.mod(a, np.where((b == 0) | (b == -1), 1, b)))
    m = np.fmod(a, b)
    return np.where((m != 0) & ((m < 0) != (b < 0)), m + b, m)


def truncated_modulo(a, b):
    if a.dtype != np.int64:
        return np.fmod(a, b)
    return np.where((b == -1) | (b == 0), 0, np.fmod(a, np.where((b == 0) | (b == -1), 1, b)))


def integer_power(a, b):
    out, base, e = np.ones_like(a, np.uint64), a.astype(np.uint64), np.maximum(b, 0)
    while np.any(e > 0):
        out = np.where(e & 1, out * base, out)
        base, e = base * base, e >> 1
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(b & 1, -1, 1), 0))
    return np.where(b >= 0, out.astype(np.int64), inverse)


def power(case, operands):
    if case.t.kind != "float":
        return Value(integer_power(*wides(case, operands)))
    with np.errstate(all="ignore"):
        v = np.power(*(widest(case.t, a) for a in operands))
    return near(case.t, v, ulps_of(case.t))


def no_zero_divisor(case, operands):
    """Removes zeros from integers: a division by 0 is an error."""
    if case.t.kind != "float":
        operands[1] = np.where(operands[1] == 0, case.t.store(np.int64(1)), operands[1])


def no_inverse_of_zero(case, operands):
    if case.t.kind != "float":
        operands[0] = np.where((operands[0] == 0) & np.any(operands[1] < 0), case.t.store(np.int64(1)), operands[0])


def compare(function):
    return exact(lambda a, b: function(a, b).astype(np.int64))


BOOL = [Tensor("ab", "bool")]
NO_BOOL_SUB = "NumPy refuses it of bool; here bool is 0 or 1, and a result is true where it is not 0"
row("add", *both_forms("add", exact(np.add), keeps=[(0, 1)], linear=NUMBERS))
row("sub", *both_forms("sub", exact(np.subtract), keeps=[(0, 1)], linear=NUMBERS), note=NO_BOOL_SUB)
row("mul", *both_forms("mul", exact(np.multiply), keeps=[(0,), (1,)], linear=NUMBERS))
row("div", *both_forms("div", exact(divide), keeps=[(0,)], fix=no_zero_divisor, linear=FLOATS),
    note="of integers truncates, as C does; an integer divided by 0 is an error, the least one by -1 wraps")
row("mod", *both_forms("mod", exact(modulo, either_zero=True), fix=no_zero_divisor),
    note="an integer modulo 0 is an error; the sign of a zero is not defined")
row("fmod", *both_forms("fmod", exact(truncated_modulo, either_zero=True), fix=no_zero_divisor),
    note="an integer modulo 0 is an error; the sign of a zero is not defined")
row("pow", *both_forms("pow", power, fix=no_inverse_of_zero, numbers=("3", "0.5")),
    note="an integer to a negative one is truncated: 0 but of 1 and -1; of 0 an error")
row("maximum", *both_forms("maximum", exact(np.maximum, either_zero=True)),
    note="NaN if an operand is; of 0 and -0 either")
row("minimum", *both_forms("minimum", exact(np.minimum, either_zero=True)),
    note="NaN if an operand is; of 0 and -0 either")
for name, function in (("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal),
                       ("gt", np.greater), ("ge", np.greater_equal)):
    row(name, *both_forms(name, compare(function), result=BOOL, numbers=("3",)))
for name, function in (("logical_and", np.logical_and), ("logical_or", np.logical_or)):
    row(name, *both_forms(name, exact(function), result=BOOL, numbers=()))
for name, of_floats, of_integers in (("isnan", np.isnan, 0), ("isinf", np.isinf, 0), ("isposinf", np.isposinf, 0),
                                     ("isneginf", np.isneginf, 0), ("isfinite", np.isfinite, 1)):
    row(name, Form(f"{name}({{0}})", ["ab"], BOOL,
                   exact(by_kind(of_floats, lambda a, number=of_integers: np.full(a.shape, number))), each=True, unit=True))
row("logical_not", Form("logical_not({0})", ["ab"], BOOL, exact(np.logical_not), each=True, unit=True))


def shift_left(case, operands):
    a, n = wides(case, operands)
    inside = (n >= 0) & (n < 8 * case.t.bytes)
    return Value(np.where(inside, a << np.where(inside, n, 0), 0))


def shift_right(case, operands):
    a, n = wides(case, operands)
    inside = (n >= 0) & (n < 8 * case.t.bytes)
    return Value(np.where(inside, a >> np.where(inside, n, 0), np.where(a < 0, -1, 0)))


def counts(t, shape, draw, case):
    return values.shifts(t, shape, draw)


OUTSIDE = "a count that is negative or not below the width shifts everything out; NumPy leaves that to the processor"
row("signbit", Form("signbit({0})", ["ab"], BOOL,
                    exact(by_kind(lambda a: np.signbit(a) & (a == a), lambda a: a < 0)), each=True, unit=True))
for name, function in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor),
                       ("gcd", np.gcd)):
    row(name, *both_forms(name, exact(function), dtypes=INTS, numbers=("3",)))
row("bitwise_not", Form("bitwise_not({0})", ["ab"], ["ab"], exact(np.invert), dtypes=INTS, each=True, unit=True))
for name, function in (("bitwise_left_shift", shift_left), ("bitwise_right_shift", shift_right)):
    row(name, Form(f"{name}({{0}}, {{1}})", ["ab", Tensor("ab", make=counts)], ["ab"], function, dtypes=INTS, each=True,
                   unit=True),
        Form(f"{name}({{0}}, 3)", ["ab"], ["ab"], with_number(function, 3), dtypes=INTS, each=True, few=True),
        note=OUTSIDE)

row("neg", Form("neg({0})", ["ab"], ["ab"], exact(np.negative), keeps=[(0,)], linear=NUMBERS, each=True, unit=True), note=NO_BOOL_SUB)
row("abs", Form("abs({0})", ["ab"], ["ab"], exact(np.abs), each=True, unit=True))
row("relu", Form("relu({0})", ["ab"], ["ab"], exact(lambda a: np.where((a > 0) | (a != a), a, 0)), each=True, unit=True),
    note="0, not -0, of what is not positive; NaN of NaN")


def function_of(op, function, precise=PRECISE_ULPS, tail=None, near_zeros=0):
    """A function that hirc computes within some units in the last place; for integers in f64, then cast. precise:
    units for f64. tail: additional units, a function of |x|, if an exponent is rounded to the type of the result, as
    for f64, and on a GPU for f32. near_zeros: the error of `function` itself, and of a GPU near zeros below 0."""
    def want(case, operands):
        x = widest(case.t, operands[0])
        if case.t.kind != "float":
            x = x.astype(np.float64).astype(WIDE)
        with np.errstate(all="ignore"):
            v = function(x)
            own = tail and (on_gpu or case.t.name == "f64")
            more = np.nan_to_num(tail(np.abs(x)), nan=0, posinf=0) if own else 0
        if case.t.kind == "float":
            absolute = near_zeros and near_zeros + 16 * unit_roundoff(case.t) * on_gpu
            return near(case.t, v, (precise if case.t.name == "f64" else ulps_of(case.t)) + more, absolute)
        value = near(DTYPES["f64"], v, precise)
        value.err = np.where((np.abs(x) <= 1) & (v == np.rint(v)), 0, value.err)
        return value
    row(op, Form(f"{op}({{0}})", ["ab"], ["ab"], want, each=True, unit=True),
        note="of integers: computed in f64, then cast; NumPy gives floats")


def erfc(z):
    """Returns erfc of an array in more precision than f64: erfc of the nearest f64, corrected by the derivative of
    its logarithm's main term."""
    with np.errstate(all="ignore"):
        near_z = z.astype(np.float64)
        rest = np.where(np.isfinite(z), z - near_z, 0)
        of = np.array([math.erfc(x) if x == x else x for x in near_z.ravel().tolist()]).reshape(z.shape)
        slope = np.where(near_z > 0, 2 * near_z + 1 / (near_z + 1), 2 / math.sqrt(math.pi) * np.exp(-near_z * near_z))
        scaled = np.where(of > 0, of.astype(WIDE) * np.exp(-(slope.astype(WIDE) * rest)), of)
    return np.where(near_z > 0, scaled, of - slope * rest)


def erf(z):
    """Returns erf of an array in more precision than f64: erf of the nearest f64, corrected by the derivative."""
    with np.errstate(all="ignore"):
        near_z = z.astype(np.float64)
        rest = np.where(np.isfinite(z), z - near_z, 0)
        of = np.array([math.erf(x) for x in near_z.ravel().tolist()]).reshape(z.shape)
        return np.where(rest == 0, of, of + rest * (2 / math.sqrt(math.pi) * np.exp(-near_z * near_z)))  # erf(-0) is -0


def inverse(function, slope_of, x, y):
    """Returns y with function(y) = x, by Newton's method from y on."""
    with np.errstate(all="ignore"):
        for _ in range(60):
            step = (function(y) - x) / slope_of(y)
            y = np.where(np.isfinite(step), y - step, y)
    return y


def erfcinv(q):
    """Solves log(erfc(y)) = log(q), which is concave, or erf(y) = 1 - q near 1. erfc of a large y is by its series."""
    def log_erfc(y):
        z = 1 / (2 * y * y)
        far = -y * y - np.log(y * np.sqrt(WIDE(np.pi)) / (1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z)))))
        return np.where(y > 20, far, np.log(erfc(y)))

    def slope(y):
        return np.where(y > 20, -2 * y - 1 / y, -2 / np.sqrt(WIDE(np.pi)) * np.exp(-y * y) / erfc(y))
    with np.errstate(all="ignore"):
        least = np.minimum(q, 2 - q)
        tail = inverse(log_erfc, slope, np.log(least), np.sqrt(-np.log(np.where(least > 0, least, 1))))
        tail = np.where(least > 0, tail, np.where(least == 0, np.inf, np.nan))
        return np.where(least < 0.5, np.where(q < 1, tail, -tail), erfinv_near(1 - q))


def erfinv_near(x):
    root = np.sqrt(WIDE(np.pi)) / 2
    y = inverse(erf, lambda y: np.exp(-y * y) / root, x, x * root)
    return np.where(np.abs(x) < 1e-9, x * root, np.where(np.abs(x) <= 0.5, y, np.nan))


def erfinv(x):
    with np.errstate(all="ignore"):
        return np.where(np.abs(x) <= 0.5, erfinv_near(x), np.copysign(erfcinv(1 - np.abs(x)), x))


def lgamma(x):
    """Returns log|gamma|, by Stirling's series of a number above 20; of negative numbers by their mirror image."""
    pi = 4 * np.arctan(WIDE(1))
    with np.errstate(all="ignore"):
        y = np.where(x < 0.5, 1 - x, x)
        product, z = np.ones_like(y), y
        for _ in range(20):
            product, z = np.where(z < 20, product * z, product), np.where(z < 20, z + 1, z)
        r = 1 / (z * z)
        series = (1 / WIDE(12) - r * (1 / WIDE(360) - r * (1 / WIDE(1260) - r * (1 / WIDE(1680) - r / WIDE(1188))))) / z
        of = (z - 0.5) * np.log(z) - z + np.log(2 * pi) / 2 + series - np.log(product)
        of = np.where(z > 1e4000, np.inf, of)
        mirrored = np.log(pi / np.abs(np.sin(pi * (x - np.rint(x))))) - of
        of = np.where(x < 0.5, mirrored, of)
        of = np.where((x <= 0) & (x == np.rint(x)), np.inf, of)
        return np.where((x == 1) | (x == 2), 0, np.where(np.isinf(x), np.inf, of))


def times_probability(x, p):
    """Returns x * p; where x is -inf, p is 0, and the result is the limit."""
    return np.where(x == -np.inf, -WIDE(0), x * p)


def gelu(x):
    return times_probability(x, erfc(-x / np.sqrt(WIDE(2))) / 2)


def gelu_tanh(x):
    y = np.sqrt(2 / WIDE(np.pi)) * (x + WIDE(0.044715) * x ** 3)
    return times_probability(x, 1 / (1 + np.exp(-2 * y)))


function_of("exp", np.exp)
function_of("log", np.log)
function_of("rsqrt", lambda x: 1 / np.sqrt(x))
function_of("sin", np.sin)
function_of("cos", np.cos)
function_of("tanh", np.tanh)
function_of("erf", erf)
for name, function in (("exp2", np.exp2), ("expm1", np.expm1), ("log2", np.log2), ("log10", np.log10),
                       ("log1p", np.log1p), ("tan", np.tan), ("asin", np.arcsin), ("acos", np.arccos),
                       ("atan", np.arctan), ("sinh", np.sinh), ("cosh", np.cosh), ("asinh", np.arcsinh),
                       ("acosh", np.arccosh), ("atanh", np.arctanh), ("erfc", erfc)):
    function_of(name, function)
function_of("erfinv", erfinv)
function_of("erfcinv", erfcinv)
function_of("lgamma", lgamma, precise=16, near_zeros=WIDE(2) ** -56)
function_of("gelu", gelu, precise=16)
function_of("gelu_tanh", gelu_tanh, tail=lambda x: 4 * x + 0.15 * x ** 3)
function_of("silu", lambda x: times_probability(x, 1 / (1 + np.exp(-x))))
function_of("sigmoid", lambda x: 1 / (1 + np.exp(-x)))


def square_root(case, operands):
    x = case.t.load(operands[0]) if case.t.kind != "float" else case.t.load_wide(operands[0])
    with np.errstate(all="ignore"):
        return Value(np.sqrt(x.astype(np.float64) if case.t.kind != "float" else x))


def rounded(function):
    def want(case, operands):
        x = case.t.load(operands[0])
        return Value(function(x if case.t.kind == "float" else x.astype(np.float64)), either_zero=True)
    return want


for name, function in (("ceil", np.ceil), ("floor", np.floor), ("round", np.rint), ("trunc", np.trunc)):
    row(name, Form(f"{name}({{0}})", ["ab"], ["ab"], rounded(function), each=True, unit=True),
        note="of integers: computed in f64, then cast")


def angle(case, operands):
    with np.errstate(all="ignore"):
        v = np.arctan2(*(widest(case.t, a) for a in operands))
    if case.t.kind == "float":
        return near(case.t, v, ulps_of(case.t))
    value = near(DTYPES["f64"], v, PRECISE_ULPS)
    value.err = np.where(v == 0, 0, value.err)
    return value


def next_after(case, operands):
    a, b = operands
    return stored(np.nextafter(a, b))


row("nextafter", *both_forms("nextafter", next_after, dtypes=("f32", "f64")))
row("atan2", *both_forms("atan2", angle, numbers=("3",)), note="of integers: computed in f64, then cast")
row("sqrt", Form("sqrt({0})", ["ab"], ["ab"], square_root, each=True, unit=True),
    note="of integers: computed in f64, then cast")


def choose(case, operands):
    c, a, b = operands
    return stored(np.where(c, a, b))


row("where", Form("where({0}, {1}, {2})", [Tensor("ab", "bool"), "ab", "ab"], ["ab"], choose, each=True, unit=True),
    Form("where({0}, {1}, {2})", [Tensor("b", "bool"), "a1", "ab"], ["ab"], choose, each=True, few=True,
         label="where(b, a1, ab)"),
    Form("where({0}, {1}, 3)", [Tensor("ab", "bool"), "ab"], ["ab"], each=True, few=True, dtypes=FLOATS + INTS,
         want=lambda case, operands: choose(case, [*operands, case.t.store(np.full(operands[1].shape, 3))])))


def cast_to(name):
    t = DTYPES[name]
    return Form("cast({0})", ["ab"], [Tensor("ab", name)], lambda case, operands: Value(case.t.load(operands[0])),
                label=f"cast to {name}", each=True, classes=("small", "random", "special", "largest", "ties"),
                unit=name in ("f32", "bf16", "i32"), few=name not in ("f32", "bf16", "f8e4m3", "i32", "bool"),
                toward=t)


row("cast", *(cast_to(name) for name in ALL),
    note="to integers towards zero, clamped, NaN is 0; overflow of f8e4m3 is NaN; NumPy leaves both open")


def bits_as(name):
    def want(case, operands):
        """The bits of NaN in a pending sum are not defined."""
        skip = np.isnan(case.t.load(operands[0])) if case.layout.pending and case.t.kind == "float" else None
        return Value(stored=operands[0].view(DTYPES[name].stored), skip=skip)
    return want


row("bitcast", *(Form("bitcast({0})", ["ab"], [Tensor("ab", to)], bits_as(to), label=f"bitcast to {to}", classes=ANY,
                      dtypes=[d for d in FLOATS + INTS if DTYPES[d].bytes == DTYPES[to].bytes and d != to])
                 for to in FLOATS + INTS))


def number(text):
    def want(case, _):
        v = np.full(case.result_shape(0), float(text))
        return Value(v if case.t.kind == "float" else np.full(v.shape, int(float(text))))
    return want


row("full", *(Form(f"full({text})", [], ["ab"], number(text), classes=("small",), few=text != "3",
                   dtypes=FLOATS if "." in text else FLOATS + INTS if text != "1" else ALL)
              for text in ("3", "-2", "1", "0", "300", "0.3", "100000.0", "1.0e-9")),
    note="a number that the dtype does not have is cast to it: integers keep their low bits")

# ---- shapes


def move(function):
    """Elements that are moved, with any values."""
    return lambda case, operands: stored(np.ascontiguousarray(function(case.extents, *operands)))


row("broadcast",
    Form("broadcast({0})", ["b"], ["ab"], move(lambda e, a: np.broadcast_to(a, (e["a"], e["b"]))), classes=ANY,
         keeps=[(0,)], label="broadcast(b)"),
    Form("broadcast({0})", ["a1"], ["ab"], move(lambda e, a: np.broadcast_to(a, (e["a"], e["b"]))), classes=ANY,
         keeps=[(0,)], label="broadcast(a1)"))
row("reshape",
    Form("reshape({0}, [{r}])", ["ab"], ["j"], move(lambda e, a: a.reshape(-1)), classes=ANY, keeps=[(0,)],
         derived={"j": lambda e: e["a"] * e["b"]}, label="reshape to one axis"),
    Form("reshape({0}, [{r}])", ["j"], ["ab"], move(lambda e, a: a.reshape(e["a"], e["b"])), classes=ANY, keeps=[(0,)],
         derived={"j": lambda e: e["a"] * e["b"]}, label="reshape from one axis"),
    Form("reshape({0}, [{r}])", ["abc"], ["ja"], move(lambda e, a: a.reshape(e["j"], e["a"])), classes=ANY,
         sizes={"a": 4}, derived={"j": lambda e: e["b"] * e["c"]}, fixed="abc", label="reshape across"))
row("permute",
    Form("permute({0}, (1, 0))", ["ab"], ["ba"], move(lambda e, a: a.T), classes=ANY, keeps=[(0,)]),
    Form("permute({0}, (2, 0, 1))", ["abc"], ["cab"], move(lambda e, a: a.transpose(2, 0, 1)), classes=ANY))
row("slice",
    Form("slice({0}, axis=0, start=2, stop=5)", ["ab"], ["jb"], move(lambda e, a: a[2:5]), classes=ANY, keeps=[(0,)],
         fixed="a", derived={"j": lambda e: 3}),
    Form("slice({0}, axis=1, stop=3)", ["ab"], ["aj"], move(lambda e, a: a[:, :3]), classes=ANY, fixed="b",
         derived={"j": lambda e: 3}),
    Form("slice({0}, axis=0, start=2, stop=2)", ["ab"], ["jb"], move(lambda e, a: a[2:2]), classes=ANY, few=True,
         fixed="a", derived={"j": lambda e: 0}))


def padded(axis, before, after):
    def pad(e, a):
        return np.pad(a, [(before, after) if k == axis else (0, 0) for k in range(a.ndim)])
    return move(pad)


row("pad",
    Form("pad({0}, axis=0, before=2, after=1)", ["ab"], ["jb"], padded(0, 2, 1), classes=ANY,
         derived={"j": lambda e: e["a"] + 3}),
    Form("pad({0}, axis=1, after=4)", ["ab"], ["aj"], padded(1, 0, 4), classes=ANY, derived={"j": lambda e: e["b"] + 4}))
row("cat",
    Form("cat({0}, {1}, axis=0)", ["ab", "cb"], ["jb"], move(lambda e, *a: np.concatenate(a)), classes=ANY,
         derived={"j": lambda e: e["a"] + e["c"]}),
    Form("cat({0}, {1}, {2}, axis=1)", ["ab", "ac", "ab"], ["aj"], move(lambda e, *a: np.concatenate(a, 1)), classes=ANY,
         derived={"j": lambda e: 2 * e["b"] + e["c"]}))


def cut(at, axis):
    return lambda case, operands: [stored(np.ascontiguousarray(x)) for x in np.split(operands[0], at(case.extents), axis)]


row("split",
    Form("split({0}, axis=0)", ["jb"], ["ab", "ab"], cut(lambda e: [e["a"]], 0), classes=ANY,
         derived={"j": lambda e: 2 * e["a"]}),
    Form("split({0}, axis=1, sizes=[3, 5])", ["aj"], ["ab", "ac"], cut(lambda e: [3], 1), classes=ANY, fixed="bc",
         sizes={"b": 3, "c": 5}, derived={"j": lambda e: 8}))
row("select",
    Form("select({0}, axis=0, index=2)", ["cab"], ["ab"], move(lambda e, a: a[2]), classes=ANY, fixed="c", sizes={"c": 7},
         not_yet=["both:"]),
    Form("select({0}, axis=1, index=0)", ["acb"], ["ab"], move(lambda e, a: a[:, 0]), classes=ANY, fixed="c", sizes={"c": 7},
         not_yet=["both:"]))


def largest(axis):
    def want(case, operands):
        """Uses a stable sort of the negated order, NaN first."""
        x = case.t.load(operands[0])
        key = np.where(np.isnan(x), np.inf, x) if case.t.kind == "float" else x
        rank = np.isnan(x) if case.t.kind == "float" else np.zeros(x.shape)
        order = np.empty(x.shape, np.int64)
        for index in np.ndindex(*(n if d != axis else 1 for d, n in enumerate(x.shape))):
            at = tuple(slice(None) if d == axis else i for d, i in enumerate(index))
            line = sorted(range(x.shape[axis]), key=lambda i: (-int(rank[at][i]), -key[at][i].item(), i))
            order[at] = line
        order = np.take(order, range(case.extents["j"]), axis)
        return [stored(np.take_along_axis(operands[0], order, axis)), stored(order)]
    return want


row("topk",
    Form("topk({0}, k=3)", ["ab"], ["aj", Tensor("aj", "i64")], largest(1), fixed="b", derived={"j": lambda e: 3}),
    Form("topk({0}, k=2, axis=0)", ["ab"], ["jb", Tensor("jb", "i64")], largest(0), fixed="a",
         derived={"j": lambda e: 2}),
    note="of equal elements, 0 and -0 among them, the first comes first; NaN is the largest; numpy.argsort puts it last")


def of_axis(letter):
    return lambda t, shape, draw, case: values.indices(t, shape, draw, case.extents[letter])


def take(axis):
    def want(case, operands):
        """If the axis is sharded, the sum of entries and zeros turns -0 into 0."""
        a, i = operands
        entries = np.take(a, i.astype(np.int64), axis)
        return Value(case.t.load(entries), either_zero=True) if case.is_split else stored(entries)
    return want


row("gather",
    *(Form("gather({0}, {1})", ["ab", Tensor("c", d, of_axis("a"))], ["cb"], take(0), fixed="a", few=d != "i64",
           classes=ANY if d == "i64" else ("random",), label=f"gather by {d}") for d in INTS),
    Form("gather({0}, {1}, axis=1)", ["ab", Tensor("cd", "i32", of_axis("b"))], ["acd"], take(1), fixed="b", classes=ANY),
    note="of an axis that is spread over ranks it is a sum with zeros, so that -0 becomes 0")


def one_hot(case, operands):
    index = operands[0].astype(np.int64)
    return Value((index[..., None] == np.arange(4)).astype(np.int64))


def maybe_a_class(t, shape, draw, case):
    return draw.integers(-2 if t.low else 0, 6, shape).astype(t.stored)


def put(case, operands):
    """Of several elements for one place the last one stays, as in a loop."""
    a, index = operands[0].copy(), operands[1].astype(np.int64)
    elements = operands[2] if operands[2:] else case.t.store(np.full(index.shape, 3))
    for j in range(index.shape[0]):
        for k in range(index.shape[1]):
            a[index[j, k], k] = elements[j, k]
    return stored(a)


def put_last(case, operands):
    return stored(np.ascontiguousarray(put(case, [x.T for x in operands]).stored.T))


row("one_hot",
    *(Form("one_hot({0}, num_classes=4)", [Tensor("ab", d, maybe_a_class)], ["abj"], one_hot, derived={"j": lambda e: 4},
           classes=("random",), few=d != "i64", label=f"one_hot of {d}") for d in INTS))


def count_up(case, _):
    return Value(np.broadcast_to(np.arange(case.extents["b"]), case.result_shape(0)))


row("iota",
    Form("iota()", [], ["ab"], count_up, classes=("random",)),
    Form("iota()", [], ["b"], count_up, classes=("random",), sizes={"b": 300}, fixed="b", few=True, label="iota of 300"),
    note="past the values of an integer dtype it goes on from the lowest")


def philox(seed, offset, group):
    """Returns word k of Philox4x32-10 for each counter of an array, as row k."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x = [np.full_like(group, offset & 0xFFFFFFFF), np.full_like(group, offset >> 32), group & low, group >> half]
    for turn in range(10):
        key = [seed + turn * 0x9E3779B9 & 0xFFFFFFFF, (seed >> 32) + turn * 0xBB67AE85 & 0xFFFFFFFF]
        p, q = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [q >> half ^ x[1] ^ np.uint64(key[0]), q & low, p >> half ^ x[3] ^ np.uint64(key[1]), p & low]
    return np.stack(x)


def uniform(seed, offset):
    def want(case, _):
        shape = case.result_shape(0)
        number = np.arange(math.prod(shape), dtype=np.uint64)
        if case.t.name == "f64":
            words, at = philox(seed, offset, number // 2), (number % 2 * 2).astype(int)
            bits = np.take_along_axis(words, at[None] + 1, 0) << np.uint64(32) | np.take_along_axis(words, at[None], 0)
            return Value((bits[0] >> np.uint64(11)).astype(np.float64).reshape(shape) * 2.0 ** -53)
        word = np.take_along_axis(philox(seed, offset, number // 4), (number % 4).astype(int)[None], 0)[0]
        digits = case.t.mantissa + 1
        return Value((word >> np.uint64(32 - digits)).astype(np.float64).reshape(shape) * 2.0 ** -digits)
    return want


row("uniform",
    Form("uniform(seed=5, offset=7)", [], ["abc"], uniform(5, 7), dtypes=FLOATS, classes=("random",), unit=True),
    Form("uniform(seed={seed}, offset={offset})".format(seed=2**62 + 2**35 + 1, offset=2**40 + 3), [], ["b"],
         uniform(2**62 + 2**35 + 1, 2**40 + 3), dtypes=FLOATS, classes=("random",), sizes={"b": 1100}, fixed="b", few=True,
         label="uniform of 1100"))

# ---- reductions and contractions


def axes_of(case):
    return tuple(k for k, x in enumerate(case.form.operands[0].letters) if x in case.form.contracted)


def partial_of(case):
    """Returns the dtype in which a rank keeps its part of a sum if the axis is sharded: that of a stated partial;
    otherwise that of the result, but for f16, f8 and means, which could overflow, the wide one."""
    result = case.result_dtype(0)
    if not case.is_split:
        return wide_of(case.t)
    is_own = case.layout.kept or (result.name == "bf16" and case.row.op != "mean")
    return result if is_own else wide_of(result)


def bounded_sum(case, v, mag, one_sign, n, by=1):
    """Returns a sum of n terms of total magnitude mag, of one sign or several: in any order, with each step rounded
    to the wide type and each rank's part to that of partials; then divided by `by`. It is exact if all sums are small
    integers that these types can represent."""
    u, part = unit_roundoff(case.t), partial_of(case)
    whole = case.kind in ("small", "zeros") and part.mantissa >= 7
    with np.errstate(all="ignore"):
        err = (n + 1) * u * mag
        if part.mantissa < wide_of(case.t).mantissa:
            err = err + mag * WIDE(2) ** -(part.mantissa + 1) + case.ranks * part.least * (mag > 0)
        quotient = v / by
        err = err / by + u * np.abs(quotient) * (by != 1)
        err = np.where(np.isfinite(quotient) & np.isfinite(err) & (not whole), err, 0)
        most = min(part.largest, wide_of(case.t).largest)
        over = one_sign & (mag > most * WIDE(1.01) * by)
        skip = np.isfinite(mag) & (mag > most * WIDE(0.99)) & ~over
    return Value(quotient, err, skip=skip, either_zero=True)


def total(case, operands):
    axes, a = axes_of(case), operands[0]
    if case.t.kind != "float":
        return Value(np.sum(case.t.load(a), axes, keepdims=case.keepdims))
    x = widest(case.t, a)
    with np.errstate(all="ignore"):
        v = np.sum(x, axes, keepdims=case.keepdims)
        mag = np.sum(np.abs(x), axes, keepdims=case.keepdims)
    return bounded_sum(case, v, mag, of_one_sign(x, axes, case.keepdims), count(a, axes))


def of_one_sign(x, axes, keepdims=False):
    return np.any(x > 0, axes, keepdims=keepdims) != np.any(x < 0, axes, keepdims=keepdims)


def count(a, axes):
    return int(np.prod([a.shape[k] for k in axes]))


def average(case, operands):
    axes, a = axes_of(case), operands[0]
    n = count(a, axes)
    if case.t.kind == "bool":
        return Value(np.sum(case.t.load(a), axes, keepdims=case.keepdims))
    if case.t.kind == "int":
        s = np.sum(case.t.load(a), axes, keepdims=case.keepdims)
        return Value(divide(s, np.full(s.shape, max(n, 1))))
    x = widest(case.t, a)
    with np.errstate(all="ignore"):
        v, mag = np.sum(x, axes, keepdims=case.keepdims), np.sum(np.abs(x), axes, keepdims=case.keepdims)
        if not n:
            return Value(v / WIDE(0))
    return bounded_sum(case, v, mag, of_one_sign(x, axes, case.keepdims), n, WIDE(n))


def product(case, operands):
    axes, a = axes_of(case), operands[0]
    if case.t.kind != "float":
        return Value(np.prod(case.t.load(a), axes, keepdims=case.keepdims))
    x = widest(case.t, a)
    with np.errstate(all="ignore"):
        v = np.prod(x, axes, keepdims=case.keepdims)
        steps = np.sum(np.abs(np.log2(np.abs(np.where((x == 0) | ~np.isfinite(x), 1, x)))), axes, keepdims=case.keepdims)
    n = count(a, axes)
    with np.errstate(all="ignore"):
        part = partial_of(case)
        rank = WIDE(2) ** -part.mantissa * case.ranks if part.mantissa < wide_of(case.t).mantissa else 0
        err = np.where(np.isfinite(v), (n * unit_roundoff(case.t) + rank) * np.abs(v), 0)
        room = np.log2(float(min(part.largest, 1 / part.least_normal)))
    if case.kind in ("small", "zeros"):
        err = np.where(steps <= part.mantissa, 0, err)
    return Value(v, err, skip=steps >= room)


def extreme(function, of_nothing):
    def want(case, operands):
        axes, t = axes_of(case), case.t
        x = t.load(operands[0])
        if not count(operands[0], axes):
            shape = function(np.ones([max(n, 1) if k in axes else n for k, n in enumerate(x.shape)]), axes,
                             keepdims=case.keepdims).shape
            return Value(np.full(shape, of_nothing(t)))
        return Value(function(x, axes, keepdims=case.keepdims), either_zero=True)
    return want


def lowest(t):
    return 0 if t.kind == "bool" else t.low if t.kind == "int" else -np.inf if t.inf else -t.largest


def highest(t):
    return 1 if t.kind == "bool" else t.high if t.kind == "int" else np.inf if t.inf else t.largest


def no_integers(case):
    return case.t.kind != "float" and any(case.extents[x] == 0 for x in case.form.contracted)


def reductions(op, want, **more):
    return [Form(f"{op}({{0}}, axis=1)", ["ab"], ["a"], want, unit=True, **more),
            Form(f"{op}({{0}}, axis=0)", ["ab"], ["b"], want, unit=True, **more),
            Form(f"{op}({{0}})", ["ab"], [""], want, **more),
            Form(f"{op}({{0}}, axis=(0, 2), keepdims=true)", ["abc"], ["1b1"], want, **more)]


PRODUCTS = ("small", "random", "nan", "inf", "zeros", "largest")


def stated(op, want, **more):
    """With a result of another dtype."""
    return [Form(f"{op}({{0}}, axis=1)", ["ab"], [Tensor("a", d)], want, few=True, sums=True, label=f"{op} to {d}",
                 dtypes=[x for x in (FLOATS if d in FLOATS else INTS) if x != d], **more) for d in FLOATS + ("i64",)]


row("sum", *reductions("sum", total, keeps=[(0,)], sums=True), *stated("sum", total), 
    note="of bool: or; of integers it wraps in the dtype of the result, as NumPy with dtype=")
row("max", *reductions("max", extreme(np.max, lowest)), note="of nothing: the lowest value; NumPy refuses it")
row("min", *reductions("min", extreme(np.min, highest)), note="of nothing: the highest value; NumPy refuses it")
row("prod", *reductions("prod", product, classes=PRODUCTS), *stated("prod", product, classes=PRODUCTS),
    note="of bool: and; of integers it wraps in their dtype")


def running(op, axis):
    """A result of a scan is the reduction of the elements up to it."""
    def want(case, operands):
        a, t = operands[0], case.t
        if t.kind != "float":
            x = t.load(a)
            logical = {"sum": np.logical_or, "prod": np.logical_and}
            ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[op]
            return Value(logical.get(op, ufunc).accumulate(x, axis) if t.kind == "bool" else ufunc.accumulate(x, axis))
        if op in ("max", "min"):
            return Value((np.maximum if op == "max" else np.minimum).accumulate(t.load(a), axis), either_zero=True)
        x, n = widest(t, a), a.shape[axis]
        with np.errstate(all="ignore"):
            if op == "prod":
                v, mag = np.multiply.accumulate(x, axis), 0
                steps = np.add.accumulate(np.abs(np.log2(np.abs(np.where((x == 0) | ~np.isfinite(x), 1, x)))), axis)
                err = np.where(np.isfinite(v), n * unit_roundoff(t) * np.abs(v) + least(t), 0)
                return Value(v, err, either_zero=True, skip=steps >= np.log2(float(1 / wide_of(t).least_normal)))
            v, mag = np.add.accumulate(x, axis), np.add.accumulate(np.abs(x), axis)
        value = bounded_sum(case, v, mag, np.zeros(v.shape, bool), n)
        value.either_zero = True
        return value
    return want


def put_reduced(op, one=False):
    """Each place has the reduction of the element there and of all elements for the place, in their order."""
    ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[op]

    def fold(x, index, elements):
        x = x.copy()
        with np.errstate(all="ignore"):
            for j in range(elements.shape[0]):
                for k in range(elements.shape[1]):
                    at = (index[j] if one else index[j, k], k)
                    x[at] = ufunc(x[at], elements[j, k])
        return x

    def want(case, operands):
        t, a, index = case.t, operands[0], operands[1].astype(np.int64)
        elements = operands[2] if operands[2:] else t.store(np.full(index.shape, 3))
        if t.kind != "float":
            x = fold(t.load(a), index, t.load(elements))
            return Value(x != 0 if t.kind == "bool" else x)
        if op in ("max", "min"):
            return Value(fold(t.load(a), index, t.load(elements)), either_zero=True)
        x, y = widest(t, a), widest(t, elements)
        n = elements.shape[0] + 1
        if op == "prod":
            v = fold(x, index, y)
            with np.errstate(all="ignore"):
                steps = [np.abs(np.log2(np.abs(np.where((z == 0) | ~np.isfinite(z), 1, z)))) for z in (x, y)]
                steps = steps[0] + (steps[1].sum(0) if one or y.ndim == 2 else 0)
                err = np.where(np.isfinite(v), n * unit_roundoff(t) * np.abs(v) + least(t), 0)
            return Value(v, err, either_zero=True, skip=steps >= np.log2(float(1 / wide_of(t).least_normal)))
        value = bounded_sum(case, fold(x, index, y), fold(np.abs(x), index, np.abs(y)), np.zeros(x.shape, bool), n)
        value.either_zero = True
        return value
    return want


row("scatter",
    *(Form("scatter({0}, {1}, {2})", ["ab", Tensor("cb", d, of_axis("a")), "cb"], ["ab"], put, fixed="a", classes=ANY,
           label=f"scatter at {d}") for d in INTS),
    Form("scatter({0}, {1}, 3)", ["ab", Tensor("cb", "i64", of_axis("a"))], ["ab"], put, fixed="a", classes=ANY,
         dtypes=FLOATS + INTS, label="scatter of a number"),
    Form("scatter({0}, {1}, {2}, axis=-1)", ["ba", Tensor("bc", "i32", of_axis("a")), "bc"], ["ba"], put_last, fixed="a",
         classes=ANY),
    *(Form(f"scatter({{0}}, {{1}}, {{2}}, op={op})", ["ab", Tensor("cb", "i64", of_axis("a")), "cb"], ["ab"],
           put_reduced(op), fixed="a", classes=ANY, label=f"scatter by {op}") for op in ("sum", "prod", "max", "min")),
    *(Form(f"scatter({{0}}, {{1}}, {{2}}, op={op})", ["ab", Tensor("c", "i32", of_axis("a")), "cb"], ["ab"],
           put_reduced(op, one=True), fixed="a", classes=ANY, label=f"scatter of rows by {op}") for op in ("sum", "max")),
    note="of several elements for one place the last one stays; an index outside the axis is an error")


row("scan", *(Form(f"scan({{0}}, axis={axis}, op={op})", ["ab"], ["ab"], running(op, axis),
                   classes=PRODUCTS if op == "prod" else None, label=f"scan of axis {axis} by {op}")
              for op in ("sum", "prod", "max", "min") for axis in (0, 1)))
row("mean", *reductions("mean", average, refuses=no_integers), *stated("mean", average, refuses=no_integers),
    note="of integers: the sum in i64, divided towards zero, in their dtype; of bool: or; of no integers an error")


def contraction(sum_text):
    """Returns a contraction by einsum, in more precision than the operands have; integers in i64."""
    def want(case, operands):
        *ab, bias = operands + ([None] if len(operands) == 2 else [])
        if case.t.kind != "float":
            v = np.einsum(sum_text, *(case.t.load(x) for x in ab))
            return Value(v if bias is None else v + case.t.load(bias))
        a, b = (widest(case.t, x) for x in ab)
        with np.errstate(all="ignore"):
            v, mag = np.einsum(sum_text, a, b), np.einsum(sum_text, np.abs(a), np.abs(b))
            if bias is not None:
                v, mag = v + widest(case.t, bias), mag + np.abs(widest(case.t, bias))
            signs = np.einsum(sum_text, np.sign(a), np.sign(b))
            one_sign = np.abs(signs) == np.einsum(sum_text, np.abs(np.sign(a)), np.abs(np.sign(b)))
            if bias is not None:
                one_sign = one_sign & (np.sign(signs) * np.sign(widest(case.t, bias)) >= 0)
        k = case.extents["k"]
        value = bounded_sum(case, v, mag, one_sign, k + 2)
        part = partial_of(case)  # a sum over ranks has this dtype, too, before a bias is added
        again = mag * WIDE(2) ** -(part.mantissa + 1) if bias is not None and part.mantissa < 23 else 0
        value.err = np.where(value.err > 0, value.err + (k + 2) * least(case.t) + again, 0)
        return value
    return want


def contractions(call, operands, results, text, **more):
    return Form(call, operands, results, contraction(text), sums=True, **more)


row("matmul",
    contractions("matmul({0}, {1})", ["mk", "kn"], ["mn"], "mk,kn->mn", keeps=[(0,), (1,)]),
    contractions("matmul({0}, {1})", ["hmk", "hkn"], ["hmn"], "hmk,hkn->hmn", label="matmul of batches",
                 keeps=[(0,), (1,)]),
    contractions("matmul({0}, {1})", ["hmk", "kn"], ["hmn"], "hmk,kn->hmn", few=True, label="matmul, widened"),
    *(contractions("matmul({0}, {1})", ["mk", "kn"], [Tensor("mn", d)], "mk,kn->mn", few=True, label=f"matmul to {d}",
                   dtypes=[x for x in FLOATS if x != d]) for d in FLOATS),
    note="sums are in f32 at least; integers wrap, bool is or of and")
def a_scale(t, shape, draw, case):
    return np.asarray(draw.choice([-3.0, -0.3, 0.7, 5.5]) * np.ones(shape), t.stored)


def scaled_to_8_bits(case, operands):
    """Multiplies matrices of 8 bits by three scales, and clamps to the finite range before it rounds."""
    a, b, *scales = (DTYPES[d].load(x).astype(WIDE) for d, x in zip([case.t.name] * 2 + ["f32"] * 3, operands))
    by, most = np.prod(scales), DTYPES["f8e4m3"].largest
    v, mag = np.einsum("mk,nk->mn", a, b) * by, np.einsum("mk,nk->mn", np.abs(a), np.abs(b)) * np.abs(by)
    return Value(np.clip(v, -most, most), np.where(np.isnan(mag), 0, (case.extents["k"] + 5) * unit_roundoff(case.t) * mag),
                 either_zero=True)


row("linear",
    contractions("linear({0}, {1})", ["mk", "nk"], ["mn"], "mk,nk->mn", keeps=[(0,), (1,)]),
    contractions("linear({0}, {1}, {2})", ["mk", "nk", "n"], ["mn"], "mk,nk->mn"),
    contractions("linear({0}, {1})", ["mk", "nk"], [Tensor("mn", "f32")], "mk,nk->mn", few=True, label="linear to f32",
                 dtypes=[x for x in FLOATS if x != "f32"]),
    Form("cast(minimum(maximum(P{i} * {2} * {3} * {4}, -448.0), 448.0))",
         ["m@x,k", "n,k", *(Tensor("", "f32", a_scale) for _ in range(3))], [Tensor("m@x,n", "f8e4m3")], scaled_to_8_bits,
         before="P{i}: f32[{m}@x, {n}] = linear({0}, {1})", dtypes=("f8e4m3",), classes=("small", "random", "nan", "special"),
         sizes={"m": 7, "n": 32, "k": 48}, fixed="mnk", label="linear, scaled to 8 bits"))


def ends_of_groups(t, shape, draw, case):
    """Makes ends that ascend; some groups are empty, and some rows have no group."""
    return np.sort(draw.integers(0, min(127, case.extents["m"] + 1) + 1, shape)).astype(t.stored)


def grouped(case, operands):
    """Sums each row's products with the matrix of its group."""
    a, b, ends = operands[0], operands[1], operands[2].astype(np.int64)
    rows = np.arange(a.shape[0])
    inside = (rows[:, None] >= np.concatenate([[0], ends[:-1]])) & (rows[:, None] < ends)
    if case.t.kind != "float":
        with np.errstate(all="ignore"):
            each = np.einsum("mk,gkn->mgn", case.t.load(a), case.t.load(b))
        return Value(np.sum(np.where(inside[:, :, None], each, 0), 1))
    x, y = widest(case.t, a), widest(case.t, b)
    with np.errstate(all="ignore"):
        each, mag = np.einsum("mk,gkn->mgn", x, y), np.einsum("mk,gkn->mgn", np.abs(x), np.abs(y))
        v, mag = (np.sum(np.where(inside[:, :, None], e, 0), 1) for e in (each, mag))
    k = case.extents["k"]
    value = bounded_sum(case, v, mag, np.zeros(v.shape, bool), k + 2)
    value.err = np.where(value.err > 0, value.err + (k + 2) * least(case.t), 0)
    value.either_zero = True
    return value


row("grouped_matmul",
    *(Form("grouped_matmul({0}, {1}, {2})", ["mk", "fkn", Tensor("f", d, ends_of_groups)], ["mn"], grouped,
           few=d != "i64", dtypes=FLOATS + INTS, classes=("small", "random", "zeros"), label=f"grouped_matmul to {d}")
      for d in ("i64", "i32")),
    note="rows without a group are 0")

# ---- attention and norms

NORMS = ("small", "random", "nan", "inf", "zeros", "subnormals")
LARGE_NORMS = NORMS + ("largest",)


def softmax_of(x, axis, u):
    """Returns softmax and its error: of the difference to the largest, of exp, of the sum and the quotient."""
    with np.errstate(all="ignore"):
        d = x - np.max(x, axis, keepdims=True) if x.shape[axis] else x
        e = np.exp(d)
        y = e / np.sum(e, axis, keepdims=True)
        far = np.where(np.isfinite(d), np.abs(d), 0)
        return y, y * u * (8 + 2 * far + x.shape[axis])


def softmax(axis):
    def want(case, operands):
        u = unit_roundoff(case.t)
        y, err = softmax_of(widest(case.t, operands[0]), axis, u)
        return Value(y, np.where(np.isfinite(y) & (y != 0), err + least(case.t), 0), either_zero=True)
    return want


row("softmax", Form("softmax({0})", ["ab"], ["ab"], softmax(1), dtypes=FLOATS),
    Form("softmax({0}, axis=0)", ["ab"], ["ab"], softmax(0), dtypes=FLOATS))


def norm(layer):
    def want(case, operands):
        t, u = case.t, unit_roundoff(case.t)
        x, *rest = (widest(t, a) for a in operands)
        n, eps = x.shape[-1], WIDE(1e-5)
        with np.errstate(all="ignore"):
            most = np.max(np.abs(x), -1, keepdims=True, initial=0)
            f = x - np.mean(x, -1, keepdims=True) if layer else x
            s = np.sqrt(np.mean(f * f, -1, keepdims=True) + eps)
            y = f / s
            off = (n + 4) * u * most if layer else 0
            err = off / s + np.abs(y) * (2 * off / s + (n + 8) * u)
            if rest:
                y, err = y * rest[0], (err + least(t)) * np.abs(rest[0])
                err = err + 2 * u * np.abs(y)
            if rest[1:]:
                y = y + rest[1]
                err = err + 2 * u * (np.abs(y) + np.abs(rest[1]))
            square = np.max(np.abs(f), -1, keepdims=True, initial=0) ** 2 * n
        skip = np.broadcast_to(np.isfinite(square) & (square > wide_of(t).largest * WIDE(0.5)), y.shape)
        return Value(y, np.where(np.isfinite(y), err + least(t), 0), either_zero=True, skip=skip)
    return want


NORM_NOTE = "where squares leave the range of f32, or of f64 those of f64, the result is not defined"
OF_NORMS = {"dtypes": FLOATS, "classes": LARGE_NORMS}
row("layernorm", Form("layernorm({0})", ["ab"], ["ab"], norm(True), **OF_NORMS),
    Form("layernorm({0}, {1})", ["ab", "b"], ["ab"], norm(True), **OF_NORMS),
    Form("layernorm({0}, {1}, {2})", ["ab", "b", "b"], ["ab"], norm(True), **OF_NORMS), note=NORM_NOTE)
row("rmsnorm", Form("rmsnorm({0})", ["ab"], ["ab"], norm(False), **OF_NORMS),
    Form("rmsnorm({0}, {1})", ["ab", "b"], ["ab"], norm(False), **OF_NORMS), note=NORM_NOTE)


def rounded_weights(t, p, elements):
    """Returns the errors of weights that a GPU's tensor cores get in t, divided by the largest of their row."""
    if not on_gpu or t.name not in ("bf16", "f16") or elements % 16:
        return 0
    return p * WIDE(2) ** -(t.mantissa + 1) + np.max(p, 2, keepdims=True, initial=0) * t.least / 2


def attention(causal, scale=None, hides=False, logs=False):
    """hides: the mask, if there is one, is bool. logs: with the second result."""
    def want(case, operands):
        t, u = case.t, unit_roundoff(case.t)
        q, k, v = (widest(t, a) for a in operands[:3])
        k, v = (np.broadcast_to(a, q.shape[:1] + a.shape[1:]) for a in (k, v))
        with np.errstate(all="ignore"):
            by = WIDE(1) / np.sqrt(WIDE(q.shape[-1])) if scale is None else WIDE(scale)
            s = np.einsum("hqe,hse->hqs", q, k) * by
            mag = np.einsum("hqe,hse->hqs", np.abs(q), np.abs(k)) * by
            rows = np.arange(s.shape[1])[:, None] >= np.arange(s.shape[2])[None, :]
            s = np.where(rows, s, -np.inf) if causal else s
            if hides:
                s = np.where(DTYPES["bool"].load(operands[3]) != 0, s, -np.inf)
            elif operands[3:]:
                mask = widest(t, operands[3])
                s, mag = s + mask, mag + np.abs(mask)
            hidden = np.all(s == -np.inf, 2, keepdims=True)
            p, err = (np.where(hidden, 0, a) for a in softmax_of(s, 2, u))
            off = np.max(np.where(np.isfinite(mag), mag, 0), 2, keepdims=True, initial=0) * u * (q.shape[-1] + 4)
            err = err + 2 * p * off
            out = np.einsum("hqs,hsf->hqf", p, v)
            err = err + p * u * (s.shape[2] + 2) + rounded_weights(case.t, p, q.shape[-1])
            err = np.einsum("hqs,hsf->hqf", err, np.abs(v))
            first = Value(out, np.where(np.isfinite(out), err + 4 * least(t), 0), either_zero=True)
            if not logs:
                return first
            most = np.max(s, 2, keepdims=True, initial=-np.inf)
            part = np.log(np.sum(np.exp(s - np.where(hidden, 0, most)), 2, keepdims=True))
            far = np.where(hidden, 0, most - np.min(np.where(s == -np.inf, most, s), 2, keepdims=True, initial=np.inf))
            err = off + u * (16 * (np.abs(most) + np.abs(part)) + 4 * far + s.shape[2] + 16)
        return [first, Value(most + part, np.where(hidden, 0, err), either_zero=True)]
    return want


row("sdpa",
    Form("sdpa({0}, {1}, {2})", ["hqe", "hse", "hsf"], ["hqf"], attention(False), dtypes=FLOATS,
         classes=("small", "random", "nan", "zeros")),
    Form("sdpa({0}, {1}, {2}, causal=true, scale=0.5)", ["hqe", "hse", "hsf"], ["hqf"], attention(True, 0.5),
         dtypes=FLOATS, classes=("small", "random"), fixed="qs", sizes={"q": 6, "s": 6}),
    Form("sdpa({0}, {1}, {2}, causal=true)", ["hqe", "hse", "hsf"], ["hqf"], attention(True), dtypes=("bf16", "f16"),
         classes=("small", "random"), few=True, fixed="hqsef", sizes={"h": 1, "q": 460, "s": 460, "e": 16, "f": 16},
         label="sdpa(hqe, hse, hsf, causal), which a GPU splits"),
    Form("sdpa({0}, {1}, {2}, {3})", ["hqe", "1se", "1sf", Tensor("qs", "bool")], ["hqf"], attention(False, hides=True),
         dtypes=FLOATS, classes=("small", "random"), few=True, label="sdpa(hqe, 1se, 1sf, mask qs)"),
    Form("sdpa({0}, {1}, {2}, {3}, causal=true)", ["hqe", "hse", "hsf", "h1s"], ["hqf"], attention(True),
         dtypes=FLOATS, classes=("small", "random"), few=True, fixed="qs", sizes={"q": 6, "s": 6},
         label="sdpa(hqe, hse, hsf, bias h1s)"),
    *(Form("sdpa({0}, {1}, {2}, {3})", ["hqe", "hse", "hsf", Tensor("qs", "bool")], ["hqf", Tensor("hq1", of)],
           attention(False, hides=True, logs=True), dtypes=dtypes, classes=("small", "random"), few=True, fixed="f",
           label=f"sdpa(hqe, hse, hsf, mask qs) and logarithms of {of}")
      for of, dtypes in (("f32", tuple(t for t in FLOATS if t != "f64")), ("f64", ("f64",)))))



def attention_gradient(causal, hides=False):
    """hides: the mask, if there is one, is bool."""
    def want(case, operands):
        t, u = case.t, unit_roundoff(case.t)
        g, q, k, v, o = (widest(t, a) for a in operands[:5])
        logs = widest(wide_of(t), operands[5])
        k, v = (np.broadcast_to(a, q.shape[:1] + a.shape[1:]) for a in (k, v))

        def product(letters, a, b, a_err=0, b_err=0):
            sums = np.einsum(letters, a, b)
            n = a.size * b.size / max(sums.size, 1)
            err = np.einsum(letters, np.abs(a), np.abs(b)) * u * (n + 4)
            err = err + np.einsum(letters, a_err + np.zeros_like(a), np.abs(b))
            return sums, err + np.einsum(letters, np.abs(a), b_err + np.zeros_like(b))
        with np.errstate(all="ignore"):
            by = WIDE(1) / np.sqrt(WIDE(q.shape[-1]))
            s, off = product("hqe,hse->hqs", q, k)
            s, off = s * by, off * by
            sees = np.arange(s.shape[1])[:, None] >= np.arange(s.shape[2])[None, :] if causal else np.ones(s.shape[1:], bool)
            if hides:
                sees = sees & (DTYPES["bool"].load(operands[6]) != 0)
            elif operands[6:]:
                s = s + widest(t, operands[6])
                off = off + u * (np.abs(s) + np.abs(widest(t, operands[6])))
            sees = sees & (logs != -np.inf)
            w = np.where(sees, np.exp(s - logs), 0)
            w_err = w * np.expm1(off + u * (16 + 4 * (np.abs(s) + np.abs(logs))))
            slope, slope_err = product("hqf,hsf->hqs", g, v)
            d, d_err = product("hqf,hqf->hq", g, o)
            between = slope - d[..., None]
            z = w * between
            z_err = w_err * np.abs(between) + (w + w_err) * (slope_err + d_err[..., None] + 2 * u * np.abs(between))
            results = [product("hqs,hse->hqe", z, k, z_err), product("hqs,hqe->hse", z, q, z_err),
                       product("hqs,hqf->hsf", w, g, w_err)]
            return [Value(y * f, np.where(np.isfinite(y), e * f * (1 + 4 * u) + 4 * least(t), 0), either_zero=True)
                    for (y, e), f in zip(results, (by, by, 1))]
    return want


GRADIENT = ["hqf", "hqe", "hse", "hsf", "hqf"]
row("sdpa_backward",
    *(Form("sdpa_backward({0}, {1}, {2}, {3}, {4}, {5}%s)" % more, [*operands, Tensor("hq1", of), *mask],
           ["hqe", "hse", "hsf"], attention_gradient("causal" in more, bool(mask)), dtypes=dtypes,
           classes=("small", "zeros"), few=bool(mask), fixed="qsef", sizes={"q": 6, "s": 6} if "causal" in more else {},
           label=f"sdpa_backward({', '.join(operands)}, {of}{more})")
      for of, dtypes in (("f32", tuple(t for t in FLOATS if t != "f64")), ("f64", ("f64",)))
      for operands, more, mask in ((GRADIENT, "", []), (GRADIENT, ", causal=true", []),
                                   (["hqf", "hqe", "1se", "1sf", "hqf"], ", {6}", [Tensor("qs", "bool")]))))

# ---- copies, collectives

row("set", Form("set({0})", ["ab"], ["ab"], move(lambda e, a: a), classes=ANY, keeps=[(0,)]),
    Form("set({0})", ["abc"], ["abc"], move(lambda e, a: a), classes=ANY, few=True, label="set of three axes"))
same = move(lambda e, a: a)


def with_parts(op):
    """Reduces over the last axis, in team order."""
    def want(case, operands):
        parts, t = operands[0], case.t
        if op == "sum" or (op == "avg" and t.kind == "bool"):
            if t.kind != "float":
                return Value(np.sum(t.load(parts), -1))
        if op == "avg" and t.kind == "int":
            return Value(divide(np.sum(t.load(parts), -1), np.full(parts.shape[:-1], case.ranks)))
        if op in ("min", "max"):
            return Value((np.min if op == "min" else np.max)(t.load(parts), -1), either_zero=True)
        if t.kind != "float":
            return Value(np.prod(t.load(parts), -1))
        x = widest(t, parts)
        with np.errstate(all="ignore"):
            if op == "prod":
                v, mag = np.prod(x, -1), 0
                steps = np.sum(np.abs(np.log2(np.abs(np.where((x == 0) | ~np.isfinite(x), 1, x)))), -1)
                err = np.where(np.isfinite(v), case.ranks * unit_roundoff(t) * np.abs(v), 0)
                return Value(v, err, skip=steps >= np.log2(float(1 / wide_of(t).least_normal)))
            v, mag = np.sum(x, -1), np.sum(np.abs(x), -1)
        value = bounded_sum(case, v, mag, of_one_sign(x, -1), case.ranks, WIDE(case.ranks if op == "avg" else 1))
        value.err = value.err if case.ranks > 1 else None
        return value
    return want


REDUCING = ("sum", "prod", "min", "max", "avg")
row("allgather", Form("allgather({0}, axis=x)", ["a@x,b"], ["a,b"], same, classes=ANY),
    Form("allgather({0}, axis=x)", ["a,b@x"], ["a,b"], same, classes=ANY))
row("allreduce", *(Form("allreduce({0}, axis=x)", [Tensor("ab", pending=op)], ["a,b"], with_parts(op),
                        label=f"allreduce, {op}") for op in REDUCING))
row("reduce_scatter", *(Form("reduce_scatter({0}, axis=x)", [Tensor("a,b", pending=op)], ["a@x,b"], with_parts(op),
                             label=f"reduce_scatter, {op}") for op in REDUCING))
row("reduce", *(Form("reduce({0}, axis=x, root=0)", [Tensor("ab", pending=op)], [Tensor("ab", mesh="root")],
                     with_parts(op), label=f"reduce, {op}") for op in REDUCING))
row("broadcast_from", Form("broadcast_from({0}, team=({team}), root=0)", [Tensor("ab", mesh="root")], ["ab"], same,
                           classes=ANY, label="broadcast_from"))
row("gather_to", Form("gather_to({0}, axis=x, root=0)", ["a@x,b"], [Tensor("ab", mesh="root")], same, classes=ANY))
row("scatter_from", Form("scatter_from({0}, team=({team}), root=0)", [Tensor("ab", mesh="root")], ["a@x,b"], same,
                         classes=ANY, label="scatter_from"))
row("send_recv", Form("send_recv({0}, team=(0 1), root=0)", [Tensor("ab", mesh="root")], [Tensor("ab", mesh="other")], same,
                      classes=ANY, ranks=(2, 3, 4)))
row("all_to_all", Form("all_to_all({0}, axis=x)", ["a@x,b"], ["a,b@x"], same, classes=ANY, sizes={"b": 12}))
row("all_to_allv", Form("all_to_allv({0}, axis=x)", ["a@x,b"], ["a,b@x"], same, classes=ANY))


def rotate(case, operands):
    """Rank r gets the block of rank r + 1."""
    return stored(np.ascontiguousarray(np.roll(operands[0], -(operands[0].shape[0] // case.ranks), 0)))


row("collective_permute", Form(
    "collective_permute({0}, axis=x, send_peer=(axis_index(x) + {ranks} - 1) % {ranks}, "
    "recv_peer=(axis_index(x) + 1) % {ranks}, by_place=true)",
    ["i@x,b"], ["i@x,b"], rotate, classes=ANY, label="rotate", derived={"i": lambda e: 3 * e["np"]}))

# ---- experts

CHOICES = 2


def an_expert(t, shape, draw, case):
    """Returns one of two experts on each rank; the choices of a token differ."""
    first = draw.integers(0, 2 * case.ranks, shape[:1] + (1,))
    return ((first + np.arange(shape[1])) % (2 * case.ranks)).astype(t.stored)


def block_of(n, ranks, k):
    """Returns the block of the rank that has element k of an axis."""
    return k // max(1, -(-n // ranks))


def routed(case, operands):
    x, experts, weights = operands
    tokens, ranks, room = len(x), case.ranks, len(x) * CHOICES
    rows = np.zeros((ranks * room,) + x.shape[1:], x.dtype)
    e = np.full((ranks * room, 1), -1, np.int64)
    w = np.zeros((ranks * room, 1), weights.dtype)
    s = np.full(ranks * room, -1, np.int64)
    to, used = np.zeros((ranks, ranks), np.int64), [0] * ranks
    for token in range(tokens):
        for choice in range(CHOICES):
            expert = int(experts[token, choice])
            rank = expert // 2
            at = rank * room + used[rank]
            rows[at], e[at], w[at], s[at] = x[token], expert, weights[token, choice], token
            used[rank] += 1
            to[block_of(tokens, ranks, token), rank] += 1
    return rows, e, w, s, to.reshape(-1), np.ascontiguousarray(to.T).reshape(-1)


def dispatch(case, operands):
    return [stored(a) for a in routed(case, operands)]


def combine(case, operands):
    x, experts, weights = operands
    t = case.t
    with np.errstate(all="ignore"):
        terms = widest(t, x)[:, None, :] * widest(t, weights)[:, :, None]
        v, mag = np.sum(terms, 1), np.sum(np.abs(terms), 1)
    value = bounded_sum(case, v, mag, of_one_sign(terms, 1), CHOICES + 1)
    value.err = np.where(value.err > 0, value.err + 3 * least(t), 0)
    return value


ROOM = {"j": lambda e: e["np"] * e["t"] * CHOICES, "i": lambda e: e["np"] ** 2}
EXPERTS = {"sizes": {"t": 5, "b": 4, "k": CHOICES}, "fixed": "k", "derived": ROOM, "dtypes": FLOATS}
row("dispatch", *(Form(
    "dispatch({0}, {1}, {2}, num_experts={experts})",
    [Tensor(f"t{at},b"), Tensor(f"t{at},k", d, an_expert), Tensor(f"t{at},k")],
    [Tensor("j@x,b"), Tensor("j@x,1", "i64"), Tensor("j@x,1"), *(Tensor(f"{x}@x", "i64") for x in "jii")],
    dispatch, classes=ANY, label=f"dispatch of {d}{at}", **EXPERTS)
    for d, at in (("i64", "@x"), ("i64", ""), ("i32", "@x"), ("u8", "@x"))))
row("combine", *(Form(
    "combine(R{i}, w{i}, s{i}, to{i}, from{i}, num_tokens={t})",
    [Tensor(f"t{at},b"), Tensor(f"t{at},k", "i64", an_expert), Tensor(f"t{at},k")], [Tensor(f"t{at},b")], combine,
    before="R{i}, e{i}, w{i}, s{i}, to{i}, from{i} = dispatch({0}, {1}, {2}, num_experts={experts})",
    classes=("small", "random", "nan", "inf"), label=f"combine{at}", **EXPERTS) for at in ("@x", "")))
