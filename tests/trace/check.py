"""check.py TRACE: checks a trace of `hirc run --trace`, and prints what is in it.

Spans of a thread are disjoint or nested, every thread has a name. Every arrow has two ends, and leads forward in time
from a communication to a wait that ends no sooner than that communication. Moving of data ends with its collective.
"""
import collections
import json
import sys


def fail(text):
    sys.exit(f"{sys.argv[1]}: {text}")


events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
spans = [e for e in events if e["ph"] == "X"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
threads = collections.defaultdict(list)
for e in spans:
    threads[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"], e))
for key, of in threads.items():
    if key not in names:
        fail(f"thread {key} has no name")
    open_until = []
    for begin, end, e in sorted(of, key=lambda x: (x[0], -x[1])):
        while open_until and open_until[-1] <= begin + 1e-3:
            open_until.pop()
        if open_until and end > open_until[-1] + 1e-3:
            fail(f"{e['name']} of {key} overlaps what is before it")
        open_until.append(end)
starts = {e["id"]: e for e in events if e["ph"] == "s"}
ends = [e for e in events if e["ph"] == "f"]
for phase in "sf":
    count = collections.Counter(e["id"] for e in events if e["ph"] == phase)
    other = {e["id"] for e in events if e["ph"] in "sf" and e["ph"] != phase}
    for arrow, n in count.items():
        if n != 1 or arrow not in other:
            fail(f"arrow {arrow} has {n} ends of phase {phase!r}, and {'an' if arrow in other else 'no'} other end")


def span_at(arrow, wait):
    """Returns the span of the wait or communication at which an end of an arrow is drawn: the later of those that
    touch it."""
    found = [e for e in spans
             if (e["pid"], e["tid"], e["cat"] == "wait") == (arrow["pid"], arrow["tid"], wait) and e["cat"] != "moving"
             and e["ts"] - 1e-3 <= arrow["ts"] <= e["ts"] + e["dur"] + 1e-3]
    return max(found, key=lambda e: (e["ts"], e["dur"])) if found else fail(f"arrow {arrow['id']} is drawn on nothing")


for e in ends:
    start = starts.get(e["id"]) or fail(f"no arrow {e['id']} begins")
    wait, communication = span_at(e, True), span_at(start, False)
    if start["ts"] > e["ts"]:
        fail(f"arrow {e['id']} leads back in time")
    if wait["ts"] + wait["dur"] < communication["ts"] + communication["dur"] - 1e-3:
        fail(f"{wait['name']} ends before {communication['name']}")
collectives = [e for e in spans if e["cat"] == "collective"]
for e in spans:
    if e["cat"] == "moving" and not any(
            (c["pid"], c["tid"]) == (e["pid"], e["tid"]) and c["ts"] <= e["ts"] + 1e-3 and
            abs(c["ts"] + c["dur"] - e["ts"] - e["dur"]) < 1e-3 for c in collectives):
        fail(f"what moves at {e['ts']} ends with no collective")
for rank in sorted({e["pid"] for e in spans}):
    kinds = collections.Counter(e["cat"] for e in spans if e["pid"] == rank)
    arrows = sum(e["pid"] == rank for e in ends)
    lanes = sorted({names[k] for k in threads if k[0] == rank})
    print(f"rank {rank}: {', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items()))}, {arrows} arrows; {', '.join(lanes)}")
