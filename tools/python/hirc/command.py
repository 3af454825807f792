"""Runs the program `hirc` and reads its messages."""
from __future__ import annotations

import glob
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import Dict, Optional, Sequence, Tuple


@dataclass(frozen=True)
class Diagnostic:
    """A message of hirc.

    severity is "error", "warning" or "note". file, line and column (from 1) are None where it has no place; code is
    what `hirc explain` explains, or None. notes are Diagnostics, too: the ways out, and other places.
    """

    severity: str
    message: str
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    code: Optional[str] = None
    notes: Tuple["Diagnostic", ...] = ()

    def __str__(self) -> str:
        place = "".join(f"{part}:" for part in (self.file, self.line, self.column) if part is not None)
        text = f"{place}{' ' if place else ''}{self.severity}{f' {self.code}' if self.code else ''}: {self.message}"
        return "\n".join([text, *map(str, self.notes)])

    @classmethod
    def of(cls, record: dict, severity: str = "note") -> "Diagnostic":
        """Makes a Diagnostic of an object of --diagnostic-format=json. severity: used if the object has none."""
        return cls(record.get("severity", severity), record["message"], record.get("file"), record.get("line"),
                   record.get("column"), record.get("code"), tuple(cls.of(note) for note in record.get("notes", ())))


class Error(Exception):
    """hirc failed.

    status      its exit code, as hirc(1) lists them: 1 the input, 2 the command line or too few ranks, 3 wrong numbers,
                4 deadlock or timeout, 5 a backend is absent, 70 a bug; below 0 the signal that ended it
    diagnostics the messages with a severity, a list of Diagnostic
    output      its other output, as text
    """

    def __init__(self, status: int, diagnostics: Sequence[Diagnostic], output: str):
        self.status, self.diagnostics, self.output = status, list(diagnostics), output
        text = "\n".join([*map(str, self.diagnostics), output.rstrip("\n")]).strip("\n")
        super().__init__(text or f"hirc ended with exit code {status}")


class HircWarning(UserWarning):
    """A warning of hirc; `warnings` decides whether it is shown."""


def binary() -> str:
    """Returns the path of the program: the environment variable HIRC, otherwise the one in this package."""
    carried = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hirc")
    path = os.environ.get("HIRC") or carried
    if path == carried and not os.path.exists(path):
        raise FileNotFoundError(f"{path} is not there: this is the source of the package. Set the environment variable "
                                "HIRC to the path of hirc, or install the wheel that `tools/package wheel` makes")
    return path


def environment() -> Dict[str, str]:
    """Returns the environment of the program: os.environ, with the folders of NVIDIA's wheels at the end of
    LD_LIBRARY_PATH. `pip install hirc[cuda]` installs these; the program finds cuBLASLt, NVRTC and NCCL for
    --target=cuda there."""
    variables = dict(os.environ)
    spec = importlib.util.find_spec("nvidia")
    wheels = [path for top in (spec.submodule_search_locations if spec else None) or ()
              for path in sorted(glob.glob(os.path.join(glob.escape(top), "*", "lib")))]
    if wheels:
        given = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = os.pathsep.join([given, *wheels] if given else wheels)
    return variables


def version() -> str:
    """Returns version and features of the program, as `hirc --version` prints them. Raises Error."""
    done = subprocess.run([binary(), "--version"], env=environment(), capture_output=True, text=True, encoding="utf-8",
                          errors="replace", check=False)
    if done.returncode:
        raise Error(done.returncode, [], done.stderr + done.stdout)
    return done.stdout


def parse(text: str) -> Tuple[list, str]:
    """Splits standard error into (diagnostics, other lines)."""
    diagnostics, rest = [], []
    for line in text.splitlines():
        record = None
        if line.startswith("{"):
            try:
                record = json.loads(line)
            except ValueError:
                pass
        if isinstance(record, dict) and "message" in record:
            diagnostics.append(Diagnostic.of(record))
        else:
            rest.append(line + "\n")
    return diagnostics, "".join(rest)


def execute(words: Sequence[str], text: Optional[str], above: int = 1) -> str:
    """Returns the standard output of `hirc WORDS --diagnostic-format=json`; text is its standard input.

    Raises Error. Warnings go to `warnings`, attributed to the function this many calls above; other messages go to
    sys.stderr. above=0: neither is shown, since another call will report the same.
    """
    done = subprocess.run([binary(), words[0], "--diagnostic-format=json", *words[1:]], input=text or "",
                          env=environment(), capture_output=True, text=True, encoding="utf-8", errors="replace",
                          check=False)
    diagnostics, rest = parse(done.stderr)
    if done.returncode:
        raise Error(done.returncode, diagnostics, rest + done.stdout)
    for diagnostic in diagnostics if above else ():
        warnings.warn(str(diagnostic), HircWarning, stacklevel=above + 2)
    if rest and above:
        sys.stderr.write(rest)
    return done.stdout
