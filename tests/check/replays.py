#!/usr/bin/env python3
"""Checks that errors found by `hirc check` can be made to happen: replays.py HIRC.

For each program of the corpora in this folder, and each example that lacks a wait, `hirc check --witness` writes how
the first error happens, and `hirc run --replay` must end in that way: a race or a lifetime error with wrong numbers
(exit code 3) or a hang (4), a mismatch or a deadlock with an error (1) or a hang. Exceptions are listed here, with
the reason.
"""
import json
import pathlib
import re
import shlex
import sys
import tempfile
from multiprocessing.pool import ThreadPool

import mutants

SHOWN = {"race": (3, 4), "lifetime": (3, 4), "mismatch": (1, 4), "deadlock": (1, 4)}  # exit codes

SAME = "both orders write the same values"
UNSEEN = "no output shows it"
NOT_RUN = "it cannot be run"
ORDERED = "one communicator does one thing after the other in hirc run"
MOVED = "a message moves another block of the same size, the same one in both orders"
MOVED_APART = "a message moves all elements to other places"
ADDED = "a sum of different blocks is a number, too"
MAPPED = "hirc run maps all memory of all ranks at the start, and needs no handles"
MOST_RANKS = 32  # a replay of more takes minutes on a busy machine
EXCEPT = {
    ("lives", "in_a_loop"): UNSEEN, ("lives", "twice"): UNSEEN, ("symmetric_lives", "lives"): UNSEEN,
    ("lives", "next_iteration"): SAME, ("messages", "group_of_one_buffer"): SAME, ("slices", "halves"): SAME,
    ("slices", "inner_and_outer"): SAME, ("symmetric", "turns_at_once"): SAME, ("symmetric", "one_block"): SAME,
    ("symmetric", "two_write"): SAME, ("classes", "others_meet"): SAME,
    ("known_bugs", "slot"): SAME, ("known_bugs", "serial"): SAME, ("races", "externs"): NOT_RUN, ("slices", "twice"): NOT_RUN,
    ("symmetric", "one_block_of_two"): NOT_RUN, ("symmetric", "communication"): ORDERED,
    ("known_bugs_of_ranks", "some_handles"): MAPPED, ("known_bugs_of_ranks", "moved"): MAPPED, ("symmetric_returned", "returned"): MAPPED,
    ("symmetric_lives", "order"): MAPPED, ("inner_splits", "other_half"): MOVED,
    ("stages", "one_differs"): UNSEEN, ("json", "wrong"): SAME, ("b50_allreduce_of_different_blocks", "p"): ADDED, ("parts", "other_blocks"): ADDED,
    ("parts", "columns"): ADDED, ("parts", "shards"): ADDED, ("parts", "rooted"): ADDED,
    ("parts", "into_another"): MOVED, ("parts", "wrong_root"): MOVED, ("moves_apart", "p"): MOVED,
    ("orders_in_memory", "other_order"): MOVED_APART,
}
MUTANT_EXCEPT = {"indices": "the run ends with an error: an index is poison"}


def corpora():
    """Yields programs of this folder with the options of their tests."""
    for path in sorted(pathlib.Path(__file__).resolve().parent.glob("*.hir")):
        text = path.read_text()
        first = re.match(r"# RUN: hirc check (.*)", text)
        if not first or "/dumps/" in first[1]:
            continue
        words = shlex.split(re.split(r";|&&|2>", first[1])[0])
        options = [w for w in words if not w.startswith("%") and w not in ("--split-input-file", "--strict")]
        for program in re.split(r"^# -----.*$", text.split("# EXPECT")[0], flags=re.MULTILINE):
            name = re.search(r"^program (\w+)", program, re.MULTILINE)
            if name:
                yield (path.stem, name[1]), program, options


def examples(hirc):
    for path, *options in mutants.CASES:
        lines = mutants.run(hirc, ["compile", str(path), "--dump=hir", *options]).stdout.splitlines()
        for _, text in mutants.without(lines):
            yield (path.stem,), "\n".join(text) + "\n", ["--passes="]


def replay(hirc, program, options, timeouts):
    """Returns the kind of a program's witness, and exit code and output of its replay; None: there is no error.

    A run that takes longer than its timeout in seconds hangs. It runs again with the next timeout if it does not show
    the error: the machine may be busy.
    """
    with tempfile.TemporaryDirectory() as folder:
        witness = pathlib.Path(folder) / "w.json"
        mutants.run(hirc, ["check", "-", f"--witness={witness}", *options], program)
        if not witness.exists():
            return None
        found = json.loads(witness.read_text())
        kind = found["kind"] if found["ranks"] <= MOST_RANKS else "many ranks"
        if kind not in SHOWN:
            return kind, 0, ""
        of_run = [option for option in options if not option.startswith("--queue")]
        for timeout in timeouts:
            done = mutants.run(hirc, ["run", "-", f"--replay={witness}", f"--timeout={timeout}", *of_run], program)
            if done.returncode in SHOWN[kind] or "the witness is of another program" not in done.stderr:
                break
        return kind, done.returncode, (done.stdout + done.stderr).strip()


def main():
    hirc = sys.argv[1]
    count = shown = failed = caller = 0
    programs = [*corpora(), *examples(hirc)]
    known = [EXCEPT.get(name) if len(name) > 1 else MUTANT_EXCEPT.get(name[0]) for name, *_ in programs]
    with ThreadPool(8) as pool:  # most of the time passes in runs that hang
        replays = pool.starmap(lambda p, listed: replay(hirc, *p[1:], (1,) if listed else (1, 20)), zip(programs, known))
    for (name, *_), listed, found in zip(programs, known, replays):
        kind, code, said = found or ("none", 0, "")
        if kind not in SHOWN:
            caller += kind == "caller"
            continue
        count += 1
        if code in SHOWN[kind]:
            shown += 1
        elif not listed:
            failed += 1
            print(f"failed: {' '.join(name)}: {kind}, exit {code}: {said}")
    print(f"{shown} of {count} errors came about, {count - shown - failed} are listed as those that cannot, "
          f"{failed} failed; {caller} are of the caller")
    sys.exit(failed != 0)


main()
