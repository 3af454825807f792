#!/usr/bin/env python3
"""overlap_trace.py HIRC: the trace of a scheduled program shows its schedule.

The backward transformer layer is scheduled and bucketed, and run on four ranks. On every rank the trace has the
statements of the dump in their order, on the compute lane and on the lane of each communicator; outputs are right. A
reshape or permute whose readers can read its operand makes no task.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "examples", "fsdp_transformer_backward.hir")
COLLECTIVE = re.compile(r" as c\d+$")
VIEW = re.compile(r"(=|<-) (reshape|permute)\(")
SILENT = re.compile(r"^(param|const|mesh|program|input|output|deallocate|\})|= allocate\(|= get_current_stream")


def statements(text):
    """Returns the statements that a dump issues: on the compute lane, on communicators."""
    compute, communication = [], []
    for line in text.splitlines():
        line = line.strip()
        if line and not SILENT.search(line):
            (communication if COLLECTIVE.search(line) else compute).append(line)
    return compute, communication


def once(names):
    """Keeps a statement of several tasks once."""
    return [n for k, n in enumerate(names) if not k or names[k - 1] != n]


def main():
    hirc = sys.argv[1]
    dump = subprocess.run([hirc, "compile", PROGRAM, "--effort=2", "--dump=hir"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    compute, communication = statements(dump)
    if not any("= pack(" in s or "<- pack(" in s for s in compute):
        sys.exit("the schedule has no bucket")
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        done = subprocess.run([hirc, "run", PROGRAM, "--effort=2", "--check", "--np=4", f"--trace={trace}"],
                              stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"run: exit code {done.returncode}: {done.stdout}")
        events = json.load(open(trace))["traceEvents"]
    ran = sorted((e for e in events if e["ph"] == "X" and e["name"] != "moving"), key=lambda e: e["ts"])
    for rank in range(4):
        names = [e["name"] for e in ran if e["pid"] == rank]
        here = once([n for n in names if not COLLECTIVE.search(n)])
        made = [s for s in compute if s in here or not VIEW.search(s)]
        if here != made:
            at = next((k for k, (a, b) in enumerate(zip(here, made)) if a != b), min(len(here), len(made)))
            sys.exit(f"rank {rank} ran {here[at:at + 1]}, the schedule has {made[at:at + 1]}")
        sent = [n for n in names if COLLECTIVE.search(n)]
        lanes = {e["tid"] for e in ran if e["pid"] == rank and COLLECTIVE.search(e["name"])}
        for lane in lanes:
            mine = [e["name"] for e in ran if e["pid"] == rank and e["tid"] == lane and COLLECTIVE.search(e["name"])]
            if mine != [s for s in communication if s in mine]:
                sys.exit(f"rank {rank}: a communicator does not run its collectives in order: {mine}")
        if sorted(sent) != sorted(communication):
            sys.exit(f"rank {rank} ran other collectives than the schedule has")
    print(f"{len(compute)} statements and {len(communication)} collectives ran in order on 4 ranks")


main()
