#!/usr/bin/env python3
"""Compares `hirc explain` with `hirc sim`.

    adds_up.py HIRC

Runs all examples, on clusters with and without contention, with and without options. Each class has the figures of
sim. The rows of communication are sim's, statement by statement; the rows of work add up to sim's work. All exposed
time has reasons. The chain is as long as the class's time. CSV has the same rows, and the totals in the text are the
sums of its rows, in at most 120 columns.
"""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTIONS = [["--cluster=cpu"], ["--cluster=h100", "--effort=1"], ["--cluster=cpu", "--pipeline=p2p", "--streams=1"]]
LIMIT = 60  # time limit of a command
OWN = ["end_ns", "work_ns", "exposed_ns", "host_ns", "count", "ranks"]


class Refused(Exception):
    """A command of hirc failed."""


def hirc(program, command, path, *options):
    done = subprocess.run([program, command, str(path), *options], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        raise Refused(f"hirc {command}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def rows_of(one, kind):
    return [r for r in one["rows"] if r["kind"] == kind]


def by_statement(rows):
    sums = {}
    for r in rows:
        key = (r["statement"], r["where"])
        old = sums.get(key, (0, 0, 0, 0))
        sums[key] = tuple(a + b for a, b in zip(old, (r["count"], r["bytes"], r["time_ns"], r["exposed_ns"])))
    return sums


def check_json(sim, told, recorded):
    """Yields the differences."""
    if told["step_ns"] != sim["step_ns"] or len(told["classes"]) != len(sim["classes"]):
        yield "the step and its classes"
        return
    for one, other in zip(told["classes"], sim["classes"]):
        for key in OWN:
            if key in other and one[key] != other[key]:
                yield f"{key}: {one[key]}, not {other[key]}"
        if by_statement(rows_of(one, "communication")) != by_statement(other["communication"]):
            yield "communication"
        work = sum(r["time_ns"] for r in rows_of(one, "work"))
        if work != one["work_ns"] and not (recorded and work < one["work_ns"]):
            yield f"work adds up to {work}, not {one['work_ns']}"
        if sum(r["time_ns"] for r in rows_of(one, "communication")) != one["communication_ns"]:
            yield "communication_ns"
        if sum(r["exposed_ns"] for r in one["rows"]) != one["exposed_ns"]:
            yield "exposed_ns is not the sum of the rows"
        if sum(one["chain_ns"].values()) != one["end_ns"] or min(one["chain_ns"].values()) < 0:
            yield f"the chain is {one['chain_ns']} of {one['end_ns']}"
        for r in one["rows"]:
            if sum(w["exposed_ns"] for w in r["why"]) != r["exposed_ns"]:
                yield f"{r['statement']}: the reasons are not all of what is exposed"
            if r["idle_ns"] < (r["waits_for"] or {"idle_ns": 0})["idle_ns"] or r["exposed_first_ns"] > r["exposed_ns"]:
                yield f"{r['statement']}: a part is more than all"
        if one["contention_ns"] != sum(r["time_ns"] - r["alone_ns"] for r in one["rows"]):
            yield "contention_ns"
    times = [[a["time_ns"] for a in c["alternatives"]] for c in told["collectives"]]
    if any(t != sorted(t) for t in times):
        yield "alternatives are not in the order of their times"


def check_csv(told, text):
    lines = list(csv.DictReader(io.StringIO(text)))
    rows = [(one["name"], r) for one in told["classes"] for r in one["rows"]]
    if len(lines) != len(rows):
        yield "CSV has other rows"
    for line, (name, r) in zip(lines, rows):
        same = all(int(line[key]) == r[key] for key in
                   ["count", "flops", "bytes", "time_ns", "alone_ns", "begin_ns", "idle_ns", "exposed_ns"])
        if line["ranks"] != name or line["statement"] != r["statement"] or not same:
            yield f"CSV: {line['statement']}"


def column(line, header, name):
    """Returns the number that ends in the column in which the heading ends; 0 if there is none."""
    end = header.index(name) + len(name)
    match = re.search(r"(\d+\.\d+)$", line[:end])
    return float(match.group(1)) if match and len(line) >= end else 0.0


def check_text(text):
    lines = text.splitlines()
    if max(map(len, lines)) > 120:
        yield "a line is longer than 120 columns"
    at = next((k for k, line in enumerate(lines) if re.match(r" *line +statement", line)), None)
    if at is None:
        return
    header, unit = lines[at], re.search(r"bytes +(us|ms) ", lines[at]).group(1)
    table = []
    for line in lines[at + 1:]:
        if not line:
            break
        if not line.lstrip().startswith("why exposed") and " of it: " not in line:
            table.append(line)
    for name in [f" {unit}", "exposed"]:
        rows = [column(line, header, name) for line in table if not line.lstrip().startswith("all ")]
        totals = [column(line, header, name) for line in table if line.lstrip().startswith("all ")]
        if abs(sum(rows) - sum(totals)) > 0.0006 * (len(rows) + 2):
            yield f"column {name} adds up to {sum(rows):.3f}, not {sum(totals):.3f}"


def compare(program, path, options):
    """Yields the differences. Raises Refused."""
    sim = json.loads(hirc(program, "sim", path, *options, "--json"))
    told = json.loads(hirc(program, "explain", path, *options, "--json", "--advice=no"))
    yield from check_json(sim, told, path.suffix == ".graph")
    if options in OPTIONS[:1]:
        yield from check_csv(told, hirc(program, "explain", path, *options, "--csv"))
        yield from check_text(hirc(program, "explain", path, *options, "--top=0", "--advice=no"))


def main():
    program, count, wrong = sys.argv[1], 0, []
    paths = sorted((ROOT / "examples").glob("*.hir"))
    cases = [(p, o) for o in (OPTIONS[:1] if os.environ.get("HIRC_FEW") else OPTIONS) for p in paths]
    cases += [(ROOT / "tests/sim/two_layers.graph", o) for o in [[], ["--effort=1", "--bucket-mode=none"]]]
    for path, options in cases:
        try:
            found = [*compare(program, path, options)]
            count += 1
        except Refused as refused:
            found = [refused]
        wrong += [(path.name, options, text) for text in found]
    for case in wrong[:20]:
        print(*case)
    if wrong or count != len(cases):
        sys.exit(f"{len(wrong)} faults in {len(cases)} programs")
    print(f"{count} programs agree")


main()
