"""The dtypes of hir(5) as arrays of NumPy: how their elements are stored, read and rounded.

NumPy has no bf16 and no 8-bit floats, so these are arrays of bits; the others are arrays of NumPy's own dtype. Bits
are decoded by the definition of each format, and a value is rounded once, from any precision. ml_dtypes is not used
for this; it is compared with it (cross_check).
"""
import numpy as np

WIDE = np.longdouble  # 64 bits of mantissa or more: holds every i64


class Dtype:
    """exponent, mantissa: bits of a float; inf: overflow gives infinity, otherwise NaN."""

    def __init__(self, name, stored, descr, kind, exponent=0, mantissa=0, inf=True):
        self.name, self.stored, self.descr, self.kind = name, np.dtype(stored), descr, kind
        self.exponent, self.mantissa, self.inf = exponent, mantissa, inf
        self.bytes = self.stored.itemsize
        self.is_bits = kind == "float" and self.stored.kind == "u"
        if kind == "float":
            self.bias = (1 << (exponent - 1)) - 1
            self.least_normal = WIDE(2) ** (1 - self.bias)
            self.least = self.least_normal * WIDE(2) ** -mantissa
            top = (1 << exponent) - 1 - self.bias - (1 if inf else 0)
            steps = (2 << mantissa) - (1 if inf else 2)  # e4m3fn: its last pattern is NaN
            self.largest = WIDE(steps) * WIDE(2) ** (top - mantissa)
        elif kind == "int":
            self.low, self.high = int(np.iinfo(stored).min), int(np.iinfo(stored).max)
        if self.is_bits:
            self.table = np.array([self.value_of(b) for b in range(1 << 8 * self.bytes)])

    def __repr__(self):
        return self.name

    def value_of(self, bits):
        """Returns the value of a pattern of bits, by the definition of the format."""
        sign = -1.0 if bits >> (self.exponent + self.mantissa) & 1 else 1.0
        e = bits >> self.mantissa & ((1 << self.exponent) - 1)
        m = bits & ((1 << self.mantissa) - 1)
        if e == (1 << self.exponent) - 1:
            if self.inf:
                return np.nan if m else sign * np.inf
            if m == (1 << self.mantissa) - 1:
                return np.nan
        if e == 0:
            return sign * m * 2.0 ** (1 - self.bias - self.mantissa)
        return sign * (1 + m / (1 << self.mantissa)) * 2.0 ** (e - self.bias)

    @property
    def wide(self):
        """Returns the type that hirc computes in: f64 for f64, f32 for other floats, i64 for integers and bool."""
        return np.dtype(np.int64 if self.kind != "float" else np.float64 if self.name == "f64" else np.float32)

    def load(self, a):
        """Returns stored elements as values, in float64 or int64, which is exact."""
        if self.is_bits:
            return self.table[a]
        return a.astype(np.float64 if self.kind == "float" else np.int64)

    def load_wide(self, a):
        return self.load(a).astype(self.wide)

    def store(self, x):
        """Rounds values once to this dtype, with the rules of casts in hir(5)."""
        x = np.asarray(x)
        if self.kind == "bool":
            return x != 0
        if self.kind == "int":
            return self.store_int(x)
        if self.name in ("f64", "f32"):
            with np.errstate(all="ignore"):
                return x.astype(self.stored)
        return self.from_exact(self.quantize(x))

    def store_int(self, x):
        """Stores integers with their low bits; floats are truncated towards zero and clamped, and NaN gives 0."""
        if x.dtype.kind != "f":
            return x.astype(np.int64).astype(self.stored)
        x = np.nan_to_num(np.trunc(x.astype(WIDE)), nan=0, posinf=np.inf, neginf=-np.inf)
        out = np.clip(x, WIDE(self.low), WIDE(self.high))
        return out.astype(np.int64).astype(self.stored)

    def quantize(self, x):
        """Returns the nearest values of this format, ties to even; values that are too large become infinite or NaN."""
        x = x.astype(WIDE)
        with np.errstate(all="ignore"):
            e = np.maximum(np.frexp(x)[1] - 1, 1 - self.bias)
            step = np.ldexp(WIDE(1), e - self.mantissa)
            q = np.where(np.isfinite(x), np.rint(x / step) * step, x)
            over = np.abs(q) > self.largest
            q = np.where(over, np.copysign(np.inf if self.inf else np.nan, x), q)
        return np.copysign(q, x)

    def from_exact(self, q):
        """Returns the bits of values that the format can represent."""
        if self.name == "f16":
            return q.astype(np.float16)
        negative = np.signbit(q).astype(self.stored) << (8 * self.bytes - 1)
        half = self.table[:1 << (8 * self.bytes - 1)]
        count = int(np.sum(~np.isnan(half)))  # ascending, then NaN
        bits = np.searchsorted(half[:count], np.abs(q).astype(np.float64))
        nan = (1 << (self.exponent + self.mantissa)) - 1
        bits = np.where(np.isnan(q), nan, bits)
        return bits.astype(self.stored) | negative


TABLE = [
    Dtype("f64", np.float64, "<f8", "float", 11, 52),
    Dtype("f32", np.float32, "<f4", "float", 8, 23),
    Dtype("bf16", np.uint16, "<V2", "float", 8, 7),
    Dtype("f16", np.float16, "<f2", "float", 5, 10),
    Dtype("f8e4m3", np.uint8, "|V1", "float", 4, 3, inf=False),
    Dtype("f8e5m2", np.uint8, "|V1", "float", 5, 2),
    Dtype("i64", np.int64, "<i8", "int"),
    Dtype("i32", np.int32, "<i4", "int"),
    Dtype("i16", np.int16, "<i2", "int"),
    Dtype("i8", np.int8, "|i1", "int"),
    Dtype("u8", np.uint8, "|u1", "int"),
    Dtype("bool", np.bool_, "|b1", "bool"),
]
DTYPES = {t.name: t for t in TABLE}
ALL = tuple(DTYPES)
NUMBERS = tuple(t.name for t in TABLE if t.kind != "bool")
FLOATS = tuple(t.name for t in TABLE if t.kind == "float")
INTS = tuple(t.name for t in TABLE if t.kind == "int")
ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def write(path, dtype, a):
    """Writes a .npy file in the form that `hirc run --input` reads."""
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %r, }" % (dtype.descr.replace("|V", "<V"), a.shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb", buffering=0) as f:
        f.write(b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head.encode() + a.tobytes())


def read(path, dtype, shape):
    """Reads the elements of a .npy file that hirc wrote. Raises ValueError if it has another dtype or shape."""
    with open(path, "rb", buffering=0) as f:
        data = f.read()
    length = int.from_bytes(data[8:10], "little")
    header = eval(data[10:10 + length], {"__builtins__": {}}, {})  # a literal that hirc wrote
    if header["descr"].lstrip("|<") != dtype.descr.lstrip("|<") or tuple(header["shape"]) != tuple(shape):
        raise ValueError(f"the file is {header['descr']}{header['shape']}, {dtype}{tuple(shape)} is expected")
    return np.frombuffer(data, dtype.stored, offset=10 + length).reshape(shape)


def bits_of(a):
    return np.ascontiguousarray(a).view(np.dtype(f"u{a.dtype.itemsize}")).reshape(a.shape)


def cross_check():
    """Compares decoding and rounding with ml_dtypes and NumPy. Returns the differences as lines; None without
    ml_dtypes."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    wrong = []
    draw = np.random.default_rng(1)
    for name, other in ML_DTYPES.items():
        t, theirs = DTYPES[name], np.dtype(getattr(ml_dtypes, other))
        every = np.arange(1 << 8 * t.bytes).astype(t.stored)
        with np.errstate(all="ignore"):
            values = every.view(theirs).astype(np.float64)
        if not np.array_equal(values, t.table, equal_nan=True):
            wrong.append(f"{name}: values of bits")
        finite = np.unique(t.table[np.isfinite(t.table)])
        middle = (finite[1:] + finite[:-1]) / 2  # ties; they are exact in f32, so f32 rounds them once
        x = np.concatenate([t.table, middle, -middle, draw.normal(size=10000), [1e30, -1e30]]).astype(np.float32)
        with np.errstate(all="ignore"):
            want = x.astype(theirs).astype(np.float64)
        got = t.load(t.store(x))
        both = np.array_equal(got, want, equal_nan=True) and np.array_equal(
            np.signbit(got)[~np.isnan(got)], np.signbit(want)[~np.isnan(want)])
        if not both:
            k = np.flatnonzero(~((got == want) | (np.isnan(got) & np.isnan(want))))
            wrong.append(f"{name}: rounding, {[(float(x[i]), float(got[i]), float(want[i])) for i in k[:3]]}")
    t = DTYPES["f16"]
    x = np.concatenate([draw.normal(size=10000), [65519, 65520, 6e-8, 2.98e-8, 2.99e-8, 1e9]])
    with np.errstate(all="ignore"):
        if not np.array_equal(bits_of(t.store(x)), bits_of(x.astype(np.float16))):
            wrong.append("f16: rounding")
    return wrong
