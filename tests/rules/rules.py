#!/usr/bin/env python3
"""Each rule of src/values compared with the reference, on small random programs.

    rules.py --rules build/release/tests/rules --count 40              40 programs of each operation, seed 1
    rules.py --rules build/release/tests/rules --operation softmax     one operation
    rules.py --rules build/release/tests/rules --show softmax/17       prints a program, its source and its changes

copies.py, arithmetic.py, norms.py and exchanges.py draw programs: a source on whole tensors, and a program of buffers,
blocks and Communications that computes it, with random extents, layouts, meshes and dtypes. The program, or its source,
is then changed a few times: another block, index, root, peer, operand, operation, axis or layout, a statement less or
twice. rules.c asks src/values and the reference, which steps all ranks, about each pair.

    check accepts       the reference must find all outputs written, and equal on all ranks that hold them; if only
                        layouts were changed, the numbers must be those of the source
    check refuses       the reference must not find the numbers of the source: else it is a false alarm
    computes            the numbers must be equal
    differs             the numbers must not be equal for each of eight random inputs
    a program as drawn  must be accepted, and must not differ

The table counts verdicts by operation. With enough programs an operation without a verdict of a kind is a fault, unless
NEVER has it. `none`: hirc takes no such program, or refuses its order.
"""
import argparse
import collections
import concurrent.futures
import random
import re
import subprocess
import sys

import changes
import spaces
import copies  # these add their operations to the table of spaces
import arithmetic
import norms
import exchanges

CHANGES = 8  # of each program
COLUMNS = ["computes", "differs", "related", "refused"]
PART = 64  # pairs that one process judges
# Verdicts that no program of an operation gets: src/values/mismatch.c has no random numbers for bools, indices and
# logarithms of sums. Below what one_hot compares, and below what experts choose, differences can vanish.
NEVER = {name: ["differs"] for name in ("bools", "topk", "iota", "sdpa_logs", "one_hot", "experts")}
ENOUGH = 40  # programs of an operation after which each kind of verdict must have been met

# Refusals by the rules of the language, though the numbers may be right: of elements that no statement needs, and of
# elements that only a set may bring from another rank.
LAW = re.compile(r"\[(E0603|E0624|E0718)\]|is a part of a reduction by")
CONTENTS = re.compile(r"\[(E0603|E0604|E0617|E0718)\]")  # refusals of contents, by src/check, too
# Statements whose meaning depends on the rank or on the blocks of a tensor
PLACED = re.compile(r"\b(?:select|shard_by_stream|send|pack|dispatch|rank|axis_index|symmetric)\b|_place")
DATA = re.compile(r"by zero|negative power|outside of the axis")  # errors of a run that depend on data

Pair = collections.namedtuple("Pair", "operation number change source program limit")
Verdict = collections.namedtuple("Verdict", "name check relation ran message failed", defaults=("", ""))


def pairs_of(seed, operation, number):
    """Returns a program, unchanged at first, and its changes."""
    r = random.Random("rules %d %s %d" % (seed, operation, number))
    drawn = spaces.OPERATIONS[operation].draw(r)
    found = [Pair(operation, number, "", drawn.source, drawn.program, drawn.limit)]
    found += [Pair(operation, number, "another source", text, drawn.program, drawn.limit) for text in drawn.others]
    for _ in range(CHANGES):
        of_source = r.random() < 0.25
        changed = changes.change(r, drawn.source if of_source else drawn.program)
        if changed:
            what, text = changed
            found.append(Pair(operation, number, ("source: " if of_source else "") + what,
                              text if of_source else drawn.source, drawn.program if of_source else text, drawn.limit))
    return found


def judge(rules, pairs):
    """Yields pairs and their verdicts."""
    listed, last = [], None
    for k, p in enumerate(pairs):
        source, program = ("" if p.source == last else p.source).encode(), p.program.encode()
        last = p.source
        listed.append(b"%d\t%d\t%d\t%d\n%s%s" % (k, p.limit, len(source), len(program), source, program))
    done = subprocess.run([rules], input=b"".join(listed), capture_output=True, timeout=600, check=False)
    said = [Verdict(*line.split("\t")) for line in done.stdout.decode().splitlines()]
    if done.returncode or len(said) != len(pairs):
        broken = pairs[min(len(said), len(pairs) - 1)]
        said += [Verdict("", "crash", "none", "none", done.stderr.decode()[-300:])]
        return list(zip(pairs, said[:-1])) + [(broken, said[-1])]
    return list(zip(pairs, said))


def column(v):
    """Returns the column of the table, or None if there was nothing to compare."""
    if v.check == "wrong" or v.check == "order" and CONTENTS.search(v.message):
        return "refused"
    return v.relation if v.check in ("ok", "trusted", "copies") else None


def keeps_meaning(p):
    """Returns true if the change is one of layouts, on which no statement depends: elements keep their index."""
    return p.change in ("other_place", "move_place", "add_copies") and not PLACED.search(p.program)


def fault(p, v):
    """Returns the disagreement of a verdict with the reference, or None."""
    if v.check == "crash":
        return "crash"
    if not p.change and v.check not in ("ok", "trusted"):
        return "a right program is not accepted"
    right = v.ran in ("equal", "close")
    if not p.change and not right:
        return "a right program gives other numbers"
    if not p.change and v.relation == "differs":
        return "a right program differs"
    defined = v.ran in ("equal", "close", "unequal") or DATA.search(v.failed)
    if v.check in ("ok", "trusted") and not defined or v.check == "copies" and not defined and v.ran != "disagree":
        return "check accepts a wrong program"
    if v.check == "wrong" and v.ran == "equal" and not LAW.search(v.message):
        return "check refuses a right program"
    if v.check == "ok" and keeps_meaning(p) and not right:
        return "check accepts a layout that gives other numbers"
    if column(v) == "computes" and not right:
        return "a program computes other numbers"
    if column(v) == "differs" and v.ran == "equal":
        return "a program that differs gives equal numbers"
    return None


def show(p, v=None):
    print("---- %s/%d%s%s" % (p.operation, p.number, p.change and ", " + p.change,
                             v and ": " + ", ".join(v[1:]) or ""))
    print("# source\n%s# program\n%s" % (p.source, p.program), end="")


def main():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--rules", required=True)
    o.add_argument("--count", type=int, default=40, help="programs of each operation")
    o.add_argument("--seed", type=int, default=1)
    o.add_argument("--operation", help="draw programs of this operation alone")
    o.add_argument("--show", metavar="OPERATION/K", help="print program K of an operation, its changes and verdicts")
    o.add_argument("--jobs", type=int, default=2)
    o = o.parse_args()
    if o.show:
        operation, number = o.show.rsplit("/", 1)
        for p, v in judge(o.rules, pairs_of(o.seed, operation, int(number))):
            show(p, v)
        return 0
    names = [o.operation] if o.operation else list(spaces.OPERATIONS)
    drawn = [p for name in names for k in range(o.count) for p in pairs_of(o.seed, name, k)]
    parts = [drawn[k:k + PART] for k in range(0, len(drawn), PART)]
    table, faults = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for p, v in (x for part in pool.map(lambda part: judge(o.rules, part), parts) for x in part):
            table[p.operation]["programs"] += 1
            table[p.operation][column(v) or "none"] += 1
            if fault(p, v):
                faults[fault(p, v), p.operation].append((p, v))
    print("%-18s%-20s" % ("row", "operation") + "".join("%10s" % x for x in ["programs", *COLUMNS, "none"]))
    missing = []
    for name in names:
        print("%-18s%-20s" % (spaces.OPERATIONS[name].row, name)
              + "".join("%10d" % table[name][x] for x in ["programs", *COLUMNS, "none"]))
        missing += ["%s is never %s" % (name, x) for x in COLUMNS
                    if x != "related" and o.count >= ENOUGH and not table[name][x] and x not in NEVER.get(name, ())]
    for (why, operation), found in sorted(faults.items()):
        p, v = min(found, key=lambda x: len(x[0].program))
        print("\n%d of %s: %s (seed %d: --show %s/%d)" % (len(found), operation, why, o.seed, operation, p.number))
        show(p, v)
    for text in missing:
        print("%s (seed %d)" % (text, o.seed))
    print("%d pairs, %d disagreements" % (len(drawn), sum(map(len, faults.values()))))
    return 1 if faults or missing else 0


if __name__ == "__main__":
    sys.exit(main())
