"""The schedule of a program: runs `hirc compile` and reads the steps from the program that it prints.

    a: f32[8] = extern "all_gather"(x) {…}                       Step("comm", ["a"])
    `a.packed`: f32[6] = pack(x, y)                         →    (of the collective that reads it)
    `a.bucket`: f32[12] = extern "all_gather"(`a.packed`)
        {…, members="a,b"}                                       Step("comm", ["a", "b"])
    c: f32[8], d: f32[4] = unpack(`c.bucket`)                    (of the wait before it)
    extern "output"(z) {…, name="output"}                        Step("node", ["output"])

A bucket's collective stands where the packed tensor is used, and its parts where the wait ends: packing and unpacking
are work that Inductor may fuse, so they have no step of their own.
"""
from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple

from ..command import Error, execute
from ..fx import EFFECTS

NAME = r"(?:`([^`]*)`|([A-Za-z_][A-Za-z0-9_]*))"
FIRST = re.compile(r"  " + NAME + r": ")
NAMED = re.compile(r'[{ ]name="((?:[^"\\]|\\.)*)"')
MEMBERS = re.compile(r'[{ ]members="([^"]*)"')
LIMIT = re.compile(r"--memory-limit=(\d+), or \{memory=\d+\}")
KIND = re.compile(r"[{ ]kind=(\w+)")
LOCAL = {"compute", "input", "attr", "view", "host", "output"}


@dataclass(frozen=True)
class Step:
    """A step of the schedule. kind: "node", "comm" or "wait"; names: one node, or the members of a bucket."""

    kind: str
    names: Tuple[str, ...]
    bucket: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {','.join(self.names)}"


def read_steps(text: str) -> List[Step]:
    """Returns the steps of a program of `extern` statements, in order."""
    steps = []
    for line in text.splitlines():
        at = line.find("extern \"")
        if not line.startswith("  ") or at < 0:
            continue  # a group, a pack or an unpack
        attributes = line[line.rfind(" {"):]
        members, kind = MEMBERS.search(attributes), KIND.search(attributes)
        word = kind.group(1) if kind else "compute"
        first = FIRST.match(line)
        if members:
            names = tuple(members.group(1).split(","))
        elif first:
            names = ((first.group(1) if first.group(1) is not None else first.group(2)),)
        else:
            names = (NAMED.search(attributes).group(1),)
        if names != (EFFECTS,):
            steps.append(Step("wait" if word == "wait" else "node" if word in LOCAL else "comm", names, bool(members)))
    return steps


@dataclass(frozen=True)
class Figures:
    """Predictions of `hirc sim`: the time of a step, the part of it that only waits for communication, the lower bound
    for any order, in ns, and the peak of live bytes."""

    step_ns: int
    exposed_ns: int
    bound_ns: int
    peak_bytes: int


def predict(text: str, cluster: str) -> Figures:
    found = json.loads(execute(["sim", f"--cluster={cluster}", "--json", "--", "-"], text, 0))
    ranks = found["classes"][0]
    return Figures(found["step_ns"], ranks["exposed_ns"], found["bound_ns"], ranks["peak_bytes"])


def run_hirc(text: str, cluster: str, effort: int, memory_limit: Optional[str], buckets: str,
             args: Sequence[str]) -> str:
    """Returns the scheduled program, which `hirc check` has proved to be in order. Raises Error."""
    words = ["--passes=schedule-overlap", f"--cluster={cluster}", f"--effort={effort}", f"--bucket-mode={buckets}"]
    if memory_limit is not None:
        words.append(f"--memory-limit={memory_limit}")
    try:
        scheduled = execute(["compile", *words, "--dump=hir", *args, "--", "-"], text, 3)
        execute(["check", "--", "-"], scheduled, 0)
    except Error as error:
        raise Error(error.status, [in_python(with_statement(d, text)) for d in error.diagnostics],
                    error.output) from None
    return scheduled


def in_python(diagnostic):
    """Returns a message whose notes name the option of Python instead of that of the command."""
    notes = [replace(note, message=LIMIT.sub(r"memory_limit=\1", note.message)) for note in diagnostic.notes]
    return replace(diagnostic, notes=tuple(notes))


def with_statement(diagnostic, text: str):
    """Returns a message with the statement that it is about, since nobody has the file of the program."""
    lines = text.splitlines()
    if diagnostic.line is None or diagnostic.line > len(lines):
        return diagnostic
    shown = lines[diagnostic.line - 1].strip()
    note = type(diagnostic)("note", f"the statement is `{shown[:160]}{'…' if len(shown) > 160 else ''}`")
    return type(diagnostic)(diagnostic.severity, diagnostic.message, diagnostic.file, diagnostic.line,
                            diagnostic.column, diagnostic.code, (*diagnostic.notes, note))
