"""Running programs on arrays of NumPy, through files that both map."""
from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Dict, List, Mapping, Optional, Sequence

from .command import Error, execute
from .program import Defines, Source, arguments, options, source

if TYPE_CHECKING:
    import numpy

SHARED = "/dev/shm"
ROOM = 4  # times what the inputs take must be free there, for outputs, whose sizes hirc alone knows
SPARE = 64 << 20  # bytes, that must be free besides
FULL = "No space left on device"  # what hirc then says


def run(program: Source, arrays: Mapping[str, "numpy.typing.ArrayLike"], *, defines: Optional[Defines] = None,
        ranks: Optional[int] = None, args: Sequence[str] = ()) -> Dict[str, "numpy.ndarray"]:
    """Runs a program on ranks of this machine; all its outputs by name, each put together from all ranks.

    arrays  of inputs by name, of the input's dtype and whole shape, in any order of memory. Inputs that the program has
            data for may be left out. bf16 and f8 are those of ml_dtypes, or raw bytes, dtype "V2" (see to_bf16) and
            "V1". An input with a pending reduction has the parts of its ranks as a last dimension.
    defines values of params, consts and free scalars, by name
    ranks   how many; None: as the program says
    args    more options of hirc run, as ["--pipeline=permute", "--check"]. What it prints goes to sys.stdout.

    The arrays that come back are the caller's own; nothing is written to those that went in: an inout comes back as an
    output. bf16 comes back as "V2", see from_bf16, f8 as "V1". Ranks are processes that hirc starts, also where a
    launcher has started Python, unless args have --bootstrap.

    Raises Error, with diagnostics, where hirc fails (wrong shape or dtype, --check, ...); TypeError for arrays that no
    dtype of hirc fits; ValueError where an input is missing or a name is no input.
    """
    import numpy

    file, text = source(program)
    more = options(defines, ranks, ())
    known = arguments(program, [*more, *defining(args)])
    inputs = [a for a in known if a.kind != "output"]
    for name in arrays:
        if name not in [a.name for a in inputs]:
            raise ValueError(f"'{name}' is no input of the program; it has {names(inputs) or 'none'}")
    missing = [a for a in inputs if not a.given and a.name not in arrays]
    if missing:
        raise ValueError(f"no array for {names(missing)}")
    values = {name: stored(name, array) for name, array in arrays.items()}
    outputs = [a.name for a in known if a.kind != "input"]

    def exchange(place: Optional[str]) -> Dict[str, "numpy.ndarray"]:
        with tempfile.TemporaryDirectory(prefix="hirc-", dir=place) as private:
            words = ["run", "--bootstrap=fork", *more]
            for number, (name, value) in enumerate(values.items()):
                path = os.path.join(private, f"in{number}.npy")
                numpy.save(path, value, allow_pickle=False)
                words.append(f"--input={name}={path}")
            paths = {name: os.path.join(private, f"out{number}.npy") for number, name in enumerate(outputs)}
            words += [f"--output={name}={path}" for name, path in paths.items()]
            printed = execute([*words, *options(None, None, args), "--", file], text, 2)
            if printed:
                sys.stdout.write(printed)
            return {name: loaded(path) for name, path in paths.items()}

    place = folder(sum(v.nbytes for v in values.values()))
    try:
        return exchange(place)
    except Error as error:
        if place is None or FULL not in str(error):
            raise
    return exchange(None)


def defining(args: Sequence[str]) -> List[str]:
    """Those of the options of hirc run that say which inputs there are: -D and --np."""
    words, found = iter(options(None, None, args)), []
    for word in words:
        if word in ("-D", "--np"):
            found += [word, *[value for value in [next(words, None)] if value is not None]]
        elif word.startswith(("-D", "--np=")):
            found.append(word)
    return found


def names(listed) -> str:
    return ", ".join(f"'{a.name}'" for a in listed)


def stored(name: str, array) -> "numpy.ndarray":
    """An array as .npy files of hirc hold it: C order, little-endian."""
    import numpy

    value = numpy.asarray(array, order="C")
    if not (value.dtype.kind in "fiub" or (value.dtype.kind == "V" and value.dtype.fields is None)) \
            or value.dtype.itemsize > 8:
        raise TypeError(f"'{name}' is an array of {value.dtype}, which no dtype of hirc is")
    return value.astype(value.dtype.newbyteorder("<"), copy=False) if value.dtype.byteorder == ">" else value


def loaded(path: str) -> "numpy.ndarray":
    """The array of a file, which is mapped, so that it may be unlinked; changes stay with the caller."""
    import numpy

    try:
        return numpy.asarray(numpy.load(path, mmap_mode="c"))
    except ValueError:  # nothing to map
        return numpy.load(path)


def folder(size: int) -> Optional[str]:
    """Where files of so many bytes are exchanged: memory, if there is room, else where tempfile puts them (None)."""
    try:
        room = os.statvfs(SHARED)
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize > ROOM * size + SPARE
    return SHARED if enough and os.access(SHARED, os.W_OK | os.X_OK) else None


def to_bf16(array: "numpy.typing.ArrayLike") -> "numpy.ndarray":
    """An array of float32 rounded to bf16, to nearest even, of the same shape and dtype "V2"."""
    import numpy

    bits = numpy.asarray(array, dtype="<f4", order="C").view("<u4")
    high = bits >> 16
    rounded = (bits + (0x7FFF + (high & 1))) >> 16  # to the even one of two that are as near
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return numpy.where(nan, high | 0x40, rounded).astype("<u2").view("V2")


def from_bf16(array: "numpy.ndarray") -> "numpy.ndarray":
    """An array of bf16 (dtype "V2") as float32."""
    import numpy

    value = numpy.asarray(array, order="C")
    if value.dtype.itemsize != 2 or value.dtype.kind not in "Vu":
        raise TypeError(f"bf16 is two raw bytes, dtype V2, not {value.dtype}")
    return numpy.asarray(value.view("<u2").astype("<u4") << 16, dtype="<u4").view("<f4")
