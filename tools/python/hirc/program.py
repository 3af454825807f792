"""Programs, and the commands that take one and print text."""
from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .command import execute

Defines = Mapping[str, Union[int, float, str]]


@dataclass(frozen=True)
class Program:
    """The text of a program, in either surface of the language. hirc calls its file <stdin> in messages, and reads what
    it names by file("x.npy") below the current folder."""

    text: str

    def __str__(self) -> str:
        return self.text


Source = Union[Program, str, "os.PathLike[str]"]


def source(program: Source) -> Tuple[str, Optional[str]]:
    """Returns (the command line's word for the file, standard input)"""
    if isinstance(program, Program):
        return "-", program.text
    if isinstance(program, str) and "\n" in program:
        return "-", program
    if isinstance(program, (str, os.PathLike)):
        path = os.fspath(program)
        if not isinstance(path, str) or not path:
            raise ValueError("the path of a program is text that is not empty")
        return path if os.path.isabs(path) else os.path.join(os.curdir, path), None
    raise TypeError(f"a program is a hirc.Program, text, or a path, not {type(program).__name__}")


def options(defines: Optional[Defines], ranks: Optional[int], args: Sequence[str]) -> List[str]:
    """Returns -D and --np, then args."""
    if isinstance(args, str):
        raise TypeError(f"args is a list of words: args=[{args!r}]")
    words = []
    for name, value in (defines or {}).items():
        words += ["-D", f"{name}={int(value) if isinstance(value, bool) else value}"]
    if ranks is not None:
        if int(ranks) != ranks or ranks < 1:
            raise ValueError(f"ranks is a whole number from 1 on, not {ranks!r}")
        words.append(f"--np={int(ranks)}")
    return words + [os.fspath(word) for word in args]


def command(name: str, program: Source, words: Sequence[str], above: int = 2) -> str:
    file, text = source(program)
    return execute([name, *words, "--", file], text, above)


def compile(program: Source, passes: Union[str, Sequence[str], None] = None, *,  # noqa: A001: named as the command
            dump: Optional[str] = "hir", defines: Optional[Defines] = None, ranks: Optional[int] = None,
            args: Sequence[str] = ()) -> str:
    """Returns the program after passes, as `hirc compile` prints it.

    passes  those to run, in this order, with their options ("allocate{hoist=1}"); None: the default pipeline; []: none
    dump    "hir", "nvfuser", "ast" or "cost"; None: only the output that args ask for, as "--dump-plan"
    defines values of params, consts and free scalars, by name
    ranks   the number of ranks, `np` in the program; None: as the program says
    args    more options of hirc compile

    Raises Error, with diagnostics.
    """
    words = options(defines, ranks, args)
    if passes is not None:
        listed = passes if isinstance(passes, str) else ",".join(passes)
        words.insert(0, f"--passes={listed}" if listed else "--stop-after=parse")
    if dump is not None:
        words.insert(0, f"--dump={dump}")
    return command("compile", program, words)


def check(program: Source, *, defines: Optional[Defines] = None, ranks: Optional[int] = None,
          args: Sequence[str] = ()) -> str:
    """Proves that ranks, streams and buffers are in order, and returns what `hirc check` then prints. Raises Error if
    they are not."""
    return command("check", program, options(defines, ranks, args))


def sim(program: Source, *, defines: Optional[Defines] = None, ranks: Optional[int] = None,
        args: Sequence[str] = ()) -> Dict[str, Any]:
    """Returns the time and memory of the program, without running it: the figures of `hirc sim --json`, as
    hirc-sim(1) lists them."""
    return json.loads(command("sim", program, [*options(defines, ranks, args), "--json"]))


def from_fx(graph_module: Any, *, times: Any = None, groups: Optional[Mapping[str, Any]] = None,
            sizes: Optional[Mapping[str, int]] = None, name: Optional[str] = None) -> Program:
    """Returns the program of a torch.fx.GraphModule: one `extern` statement for each node, to schedule and simulate.

    times   nanoseconds by the name of a node, or a function of a node that returns them, or None if it does not know;
            a node without a time gets its operations and bytes, from which --cluster computes a time
    groups  sizes of process groups, or their lists of ranks, by name, if neither the graph nor torch.distributed
            has them
    sizes   values of symbols for which torch has none, by name, such as u0
    name    of the program; None: graph

    Needs torch. Raises hirc.fx.Unknown, a ValueError, if the graph lacks a fact.
    """
    from .fx import program_text

    return Program(program_text(graph_module, times=times, groups=groups, sizes=sizes, name=name))


# ---- inputs and outputs


@dataclass(frozen=True)
class Argument:
    """An input or output of a program: its declaration, and whether the program has data for it."""

    kind: str  # input, inout or output
    name: str
    given: bool


NAME = re.compile(r"`([^`]*)`|([A-Za-z_][A-Za-z0-9_]*)")


def arguments(program: Source, words: Sequence[str]) -> List[Argument]:
    """Returns the inputs and outputs of a program, in its order. words: options of hirc compile."""
    text = command("compile", program, ["--stop-after=parse", "--dump=hir", *words], 0)
    found = []
    for line in text.splitlines():
        match = re.match(r"  (input|inout|output) ", line)
        if match:
            names, given = declared(line[match.end():])
            found += [Argument(match.group(1), name, given) for name in names]
    return found


def declared(text: str) -> Tuple[List[str], bool]:
    """Returns the names of `A: f32[2, 3], B: i32[2] = f(X)`, and whether there is an `=`."""
    names, at, depth, starts = [], 0, 0, True
    while at < len(text):
        name = NAME.match(text, at)
        if name:
            if starts:
                names.append(name.group(1) if name.group(1) is not None else name.group(2))
            starts, at = False, name.end()
            continue
        c = text[at]
        if depth == 0 and c == "=":
            return names, True
        depth += (c in "([{") - (c in ")]}")
        starts = depth == 0 and (c == "," or (starts and c == " "))
        at += 1
    return names, False
