"""Follows the schedule of another rank, in a graph that has the same collectives but other local work.

    rank 0: a = start …; y = mm(x, w); wait a          the part of a vocabulary on rank 0 begins with word 0,
    rank 1: z = sub(x, 8); a = start …; y = mm(z, w)   so it subtracts no offset

The collectives of two graphs correspond by their number, and other nodes by name and operation. The order of rank 1 is
the order of rank 0, as far as its dependencies admit; a node that rank 0 lacks stands before its first user. It is an
error if the collectives would start in another order.
"""
from __future__ import annotations

import heapq
import re
from typing import Any, Dict, List, Sequence, Set

from .plan import Step, read_steps

STATEMENT = re.compile(r"  (.*? = )?extern \"([^\"]*)\"\((.*?)\) \{")
OPERAND = re.compile(r"`([^`]*)`|([A-Za-z_][A-Za-z0-9_.]*)")


class Unfollowable(Exception):
    """The graph cannot have the order of the other rank."""


def local_work(lines: Sequence[str]) -> List[str]:
    """Returns the statements of a program that are no views."""
    return [line for line in lines if "kind=view," not in line]


def without_names(line: str) -> str:
    """Returns a statement with the number of its operands instead of their names."""
    match = STATEMENT.match(line)
    if not match:
        return line
    types = re.sub(r"`[^`]*`|\b\w+(?=: )", "", match.group(1) or "")
    attributes = re.sub(r'name="[^"]*"', "", line[match.end() - 1:])
    return f"{types}{match.group(2)}({len(OPERAND.findall(match.group(3)))}) {attributes}"


def kinds(lines: Sequence[str]) -> Dict[str, str]:
    """Returns the statements of a program by the name of the node, without operands and times, and without sizes of
    local work and of all-to-alls, which may give each rank another number of blocks."""
    found = {}
    for line in lines:
        steps = read_steps(line)
        match = STATEMENT.match(line)
        if steps and match:
            types = re.sub(r"`[^`]*`|\b\w+(?=: )", "", match.group(1) or "")
            attributes = re.sub(r"[{ ](time|flops|touches)=\d+,?", "", line[match.end() - 1:])
            if steps[0].kind != "comm" or "kind=all_to_all," in attributes:
                types = re.sub(r"\[.*?\]", "[]", types)
                attributes = re.sub(r"[{ ]bytes=\(.*?\),?", "", attributes)
            found[steps[0].names[0]] = f"{types}{match.group(2)}{attributes}"
    return found


def collectives(lines: Sequence[str]) -> List[str]:
    """Returns the names of the collectives of a program, in its order."""
    return [step.names[0] for line in lines for step in read_steps(line) if step.kind == "comm"]


def starts(lines: Sequence[str], steps: Sequence[Step]) -> List[str]:
    """Returns the order in which steps start the collectives of a program, by their numbers."""
    number = {name: k for k, name in enumerate(collectives(lines))}
    return [",".join(str(number[n]) for n in step.names) for step in steps if step.kind == "comm"]


def waited(lines: Sequence[str]) -> Dict[str, str]:
    """Returns, by wait, the name of its collective."""
    found = {}
    for line in lines:
        if any(step.kind == "wait" for step in read_steps(line)):
            name = read_steps(line)[0].names[0]
            operand = OPERAND.search(STATEMENT.match(line).group(3))
            found[name] = (operand.group(1) or operand.group(2)).partition(".")[0]
    return found


def correspondence(mine: Sequence[str], other: Sequence[str]) -> Dict[str, str]:
    """Returns, by node of the other graph, the node of this graph that does the same."""
    here, there = kinds(mine), kinds(other)
    same = {name: name for name, kind in there.items() if here.get(name) == kind}
    pairs = dict(zip(collectives(other), collectives(mine)))
    by_collective: Dict[str, List[str]] = {}
    for wait, of in waited(mine).items():
        by_collective.setdefault(of, []).append(wait)
    waits: Dict[str, str] = {}
    for wait, of in waited(other).items():
        left = by_collective.get(pairs.get(of, ""), [])
        if left:
            waits[wait] = left.pop(0)
    taken = {*pairs.values(), *waits.values()}
    return {**{a: b for a, b in same.items() if b not in taken and a not in pairs and a not in waits}, **pairs, **waits}


def dependencies(writer: Any) -> Dict[str, Set[str]]:
    """Returns, by node, the nodes that must come before it: for its operands, and for storages that one of the two
    writes. A collective uses its operands until its wait."""
    needs: Dict[str, Set[str]] = {}
    wrote: Dict[Any, str] = {}
    reading: Dict[Any, List[str]] = {}
    message = None
    for node in writer.graph.nodes:
        reads, writes = writer.accesses[node]
        needs[node.name] = found = {n.name for n in node.all_input_nodes}
        kind = writer.collective(node)
        if kind == "wait":
            reads = reads.union(*(writer.accesses[n][0] for n in node.all_input_nodes))
        if kind in ("send", "recv"):
            found |= {message} - {None}
            message = node.name
        found.update(wrote[k] for k in reads | writes if k in wrote)
        for k in writes:
            found.update(reading.pop(k, ()))
            wrote[k] = node.name
        for k in reads - writes:
            reading.setdefault(k, []).append(node.name)
        found.discard(node.name)
    return needs


def follow(writer: Any, mine: Sequence[str], other: Sequence[str], steps: Sequence[Step]) -> List[Step]:
    """Returns the steps of this graph. steps: those of the other rank; mine, other: the statements of both."""
    pairs = correspondence(mine, other)
    items: List[Step] = []
    for step in steps:
        names = tuple(pairs[n] for n in step.names if n in pairs)
        if step.bucket and len(names) != len(step.names):
            raise Unfollowable(f"the bucket of {step.names[0]} has members that this graph lacks")
        if names:
            items.append(Step(step.kind, names, step.bucket))
    place = {name: k for k, step in enumerate(items) for name in step.names}
    needs = dependencies(writer)
    users: Dict[str, List[str]] = {name: [] for name in needs}
    for name, before in needs.items():
        for n in before:
            users[n].append(name)
    rank: Dict[str, float] = {name: float(k) for name, k in place.items()}
    for name in reversed(list(needs)):
        if name not in rank:
            rank[name] = min((rank[u] for u in users[name]), default=float(len(items))) - 1e-6
    for node in writer.graph.nodes:
        if node.name not in place:
            place[node.name] = len(items)
            items.append(Step("node", (node.name,)))
    before = [{place[n] for name in step.names for n in needs[name]} - {k} for k, step in enumerate(items)]
    after: List[List[int]] = [[] for _ in items]
    for k, found in enumerate(before):
        for j in found:
            after[j].append(k)
    left = [len(found) for found in before]
    original = {name: k for k, name in enumerate(needs)}
    key = lambda k: (min(rank[n] for n in items[k].names), original[items[k].names[0]], k)
    ready = [key(k) for k, n in enumerate(left) if not n]
    heapq.heapify(ready)
    order: List[Step] = []
    while ready:
        k = heapq.heappop(ready)[2]
        order.append(items[k])
        for j in after[k]:
            left[j] -= 1
            if not left[j]:
                heapq.heappush(ready, key(j))
    if len(order) != len(items):
        raise Unfollowable("its buckets would wait for each other")
    return order
