#!/usr/bin/env python3
"""Random programs and the examples: the results of `hirc sim` follow its rules.

    rules.py HIRC [COUNT]

Ranks that behave alike give the same figures and traces, byte for byte, whether they are simulated once or one by
one. In every trace a device runs one statement at a time, collectives of a communicator do not overlap, a collective
takes equally long on all of its ranks, and nothing runs in idle time. Neither compute nor exposed time is longer than
the step, and the step is not shorter than its bound or its chain.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from simulated import CONTENDED, ROOT, simulate

KINDS = ["permute", "collective", "p2p", "p2p-put", "broadcast"]


def ns(us):
    return round(us * 1000)


def disjoint(spans):
    spans = sorted(spans)
    return all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


def broken_rules(figures, trace, contended):
    """Returns the names of the rules that do not hold."""
    lanes, work, stands = (collections.defaultdict(list) for _ in range(3))
    for e in trace["traceEvents"]:
        if e["ph"] != "X":
            continue
        begin = ns(e["ts"])
        span = (begin, begin + ns(e["dur"]))
        if e["cat"] == "task":
            work[e["pid"]].append(span)
        elif e["cat"] == "collective":
            lanes[e["pid"], e["tid"]].append(span)
        elif e["cat"] == "wait" and span[1] > span[0]:
            stands[e["pid"]].append(span)
    for pid in work:
        if not disjoint(work[pid] + stands[pid]):
            yield "a device does one thing at a time"
    if not all(disjoint(spans) for spans in lanes.values()):
        yield "collectives of a communicator do not overlap"
    if figures["bound_ns"] > figures["step_ns"]:
        yield "the step is no shorter than its bound"
    for pid, c in enumerate(figures["classes"]):
        if sum(b - a for a, b in work[pid]) != c["work_ns"]:
            yield "work is what the trace has"
        if sum(b - a for a, b in stands[pid]) != c["exposed_ns"]:
            yield "exposed is what the trace has"
        if sum(x["time_ns"] for x in c["critical"]) > c["end_ns"] > figures["step_ns"]:
            yield "the chain is no longer than the step"
        if any(x["exposed_ns"] and not x["time_ns"] for x in c["communication"]):
            yield "what is exposed takes time"
        if not contended and c["live_bytes"] != sum(x["bytes"] * x["count"] for x in c["live_at_peak"]):
            yield "what is live at most is what is live then"


def options_of(k):
    yield f"--pipeline={KINDS[k % 5]}"
    yield f"--cluster={CONTENDED}" if k % 2 else "--cluster=h100"
    if k % 3 == 0:
        yield "--zero-copy"
    if k % 4 == 1:
        yield "--delay=0:3000"
    if k % 4 == 2:
        yield "--slow=0:1.7"
    if k % 7 == 3:
        yield "--streams=1"


def main():
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(check(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40, pathlib.Path(folder)))


def check(hirc, count, folder):
    programs = sorted((ROOT / "examples").glob("*.hir"))
    for k in range(count):
        shown = subprocess.run([sys.executable, str(ROOT / "tests/vary/programs.py"), "--hirc", hirc, "--show", str(k)],
                               capture_output=True, text=True, check=True).stdout
        (folder / f"{k}.hir").write_text(shown)
        programs.append(folder / f"{k}.hir")
    bad = refused = 0
    for k, program in enumerate(programs):
        options = list(options_of(k))
        once, _ = simulate(hirc, program, options, folder)
        if once is None:
            refused += 1
            continue
        if once != simulate(hirc, program, [*options, "--classes=no"], folder)[0]:
            print(f"{program.name} {' '.join(options)}: ranks one by one take another time")
            bad += 1
        for rule in sorted(set(broken_rules(*map(json.loads, once), CONTENDED in options[1]))):
            print(f"{program.name} {' '.join(options)}: not so: {rule}")
            bad += 1
    print(f"{len(programs)} programs, {refused} refused, {bad} bad")
    return bad > 0 or refused > len(programs) // 20


main()
