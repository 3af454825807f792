"""Runs programs on arrays of NumPy, through files that both sides map."""
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
ROOM = 4  # free memory there, as a multiple of the inputs, for outputs, whose sizes only hirc knows
SPARE = 64 << 20  # further bytes that must be free
FULL = "No space left on device"  # part of hirc's message if the space is too small


def run(program: Source, arrays: Mapping[str, "numpy.typing.ArrayLike"], *, defines: Optional[Defines] = None,
        ranks: Optional[int] = None, args: Sequence[str] = ()) -> Dict[str, "numpy.ndarray"]:
    """Runs a program on ranks of this machine. Returns all its outputs by name, each joined from all ranks.

    arrays  of inputs by name, with the dtype and the whole shape of the input, in any memory order. Inputs for which
            the program has data may be left out. bf16 and f8 are those of ml_dtypes, or raw bytes, dtype "V2" (see
            to_bf16) and "V1". An input with a pending reduction has the parts of its ranks as a last dimension.
    defines values of params, consts and free scalars, by name
    ranks   their number; None: as stated in the program
    args    more options of hirc run, as ["--pipeline=permute", "--check"]. Its output goes to sys.stdout.

    The caller owns the returned arrays. The arrays passed in are not changed: an inout is returned as an output. bf16
    is returned as "V2", see from_bf16, f8 as "V1". Ranks are processes that hirc starts, even if a launcher has started
    Python, unless args have --bootstrap.

    Raises Error, with diagnostics, if hirc fails (wrong shape or dtype, --check, ...); TypeError for arrays without a
    matching dtype of hirc; ValueError if an input is missing or a name is not an input.
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
    """Returns those options of hirc run that decide which inputs there are: -D and --np."""
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
    """Returns an array in the form of hirc's .npy files: C order, little-endian."""
    import numpy

    value = numpy.asarray(array, order="C")
    if not (value.dtype.kind in "fiub" or (value.dtype.kind == "V" and value.dtype.fields is None)) \
            or value.dtype.itemsize > 8:
        raise TypeError(f"'{name}' is an array of {value.dtype}, which no dtype of hirc is")
    return value.astype(value.dtype.newbyteorder("<"), copy=False) if value.dtype.byteorder == ">" else value


def loaded(path: str) -> "numpy.ndarray":
    """Returns the array in a file, which is mapped, so that the file may be unlinked; changes are private to the
    caller."""
    import numpy

    try:
        return numpy.asarray(numpy.load(path, mmap_mode="c"))
    except ValueError:  # nothing to map
        return numpy.load(path)


def folder(size: int) -> Optional[str]:
    """Returns a folder for exchanging files of this many bytes: in memory, if there is room, otherwise tempfile's
    (None)."""
    try:
        room = os.statvfs(SHARED)
    except OSError:
        return None
    enough = room.f_bavail * room.f_frsize > ROOM * size + SPARE
    return SHARED if enough and os.access(SHARED, os.W_OK | os.X_OK) else None


def to_bf16(array: "numpy.typing.ArrayLike") -> "numpy.ndarray":
    """Returns an array of float32 rounded to bf16, to nearest even, with the same shape and dtype "V2"."""
    import numpy

    bits = numpy.asarray(array, dtype="<f4", order="C").view("<u4")
    high = bits >> 16
    rounded = (bits + (0x7FFF + (high & 1))) >> 16  # ties to even
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return numpy.where(nan, high | 0x40, rounded).astype("<u2").view("V2")


def from_bf16(array: "numpy.ndarray") -> "numpy.ndarray":
    """Returns an array of bf16 (dtype "V2") as float32."""
    import numpy

    value = numpy.asarray(array, order="C")
    if value.dtype.itemsize != 2 or value.dtype.kind not in "Vu":
        raise TypeError(f"bf16 is two raw bytes, dtype V2, not {value.dtype}")
    return numpy.asarray(value.view("<u2").astype("<u4") << 16, dtype="<u4").view("<f4")
