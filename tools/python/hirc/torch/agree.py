"""All ranks decide alike: compares graph, cluster, options and order of collectives of the members of each process
group.

Ranks that start the collectives of a group in different orders wait for each other for ever. So nobody writes a
schedule into a graph before all members of its groups have the same order. They meet in the store of torch.distributed:

    each rank:     takes the order of the lowest rank in its groups, unless it is this rank; publishes the hashes of its
                   decision; waits for the verdicts of its groups
    lowest member: reads the hashes of all members, and publishes the verdict: nothing, or the difference in words

Ranks only wait for lower ranks before they publish, and a rank judges its own groups before it waits for verdicts, so
they do not wait in a cycle.

The views in a graph may differ, since each rank takes its own part of a tensor; with follow, so may all local work.
follow.py then translates the order. Groups may have other names and members on other ranks, so a group is its number in
the order of appearance.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections import Counter
from datetime import timedelta
from typing import Any, Dict, List, Sequence, Tuple

from .follow import Unfollowable, collectives, follow, kinds, local_work, starts, without_names
from .plan import Step

GROUP = re.compile(r"([{ ]group=)(`[^`]*`|\w+)")
NODE = re.compile(r'  (?:`([^`]*)`|(\w+)): |.*[{ ]name="([^"]*)"')
seen: Counter = Counter()  # by the ranks of a group: how many graphs its members have compared


class Disagreement(Exception):
    """Ranks of a process group have different graphs, cluster files, options or schedules, or one of them failed."""


def digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def without_groups(text: str) -> List[str]:
    """Returns the statements of a program, with groups numbered in the order of their appearance."""
    numbers: Dict[str, str] = {}
    number = lambda match: match.group(1) + numbers.setdefault(match.group(2), f"#{len(numbers)}")
    return [GROUP.sub(number, line) for line in text.splitlines() if line.startswith("  ")]


def cluster_lines(cluster: str) -> List[str]:
    """Returns the lines of a cluster file; of a built-in cluster, its name."""
    if not os.path.exists(cluster):
        return [cluster]
    with open(cluster, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def node_name(line: str) -> str:
    found = NODE.match(line)
    return next((name for name in found.groups() if name), "?") if found else "?"


def difference(mine: Dict[str, List[str]], other: Dict[str, List[str]], me: int, rank: int) -> str:
    """Returns the first difference between the decisions of two ranks, in words."""
    for part in (p for p in ("graph", "collectives", "cluster", "options", "starts") if p in mine):
        a, b = mine[part], other.get(part, [])
        at = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        if at == len(a) == len(b):
            continue
        if part == "graph":
            a, b = local_work(mine["lines"]), local_work(other["lines"])
        here, there = (lines[at].strip() if at < len(lines) else "nothing more" for lines in (a, b))
        shown = f"\n  rank {me}: {here}\n  rank {rank}: {there}"
        if part == "graph":
            name = node_name(a[at] if at < len(a) else b[at])
            strip = lambda line: re.sub(r"[{ ]time=\d+", "", without_names(line))
            if at < len(a) and at < len(b) and strip(a[at]) == strip(b[at]):
                return f"ranks {me} and {rank} have other times of node {name}: give all ranks the same times{shown}"
            return (f"ranks {me} and {rank} have different graphs, from node {name} on: all ranks of a process group "
                    "must compile the same graph with the same shapes; with follow=True other local work is "
                    f"allowed{shown}")
        if part == "collectives":
            name = collectives(mine["lines"] if at < len(a) else other["lines"])[at]
            return (f"ranks {me} and {rank} have different collectives, from number {at + 1} on, which is {name}: all "
                    f"ranks of a process group must start the same collectives{shown}")
        if part == "cluster":
            return f"ranks {me} and {rank} have different cluster files, from line {at + 1} on: copy one to all{shown}"
        if part == "options":
            return f"ranks {me} and {rank} have different options of the schedule{shown}"
        return f"ranks {me} and {rank} start their collectives in different orders, from number {at + 1} on{shown}"
    return ""


class Exchange:
    """The comparison of one graph. Without torch.distributed there is nothing to compare."""

    def __init__(self, writer: Any, text: str, cluster: str, options: Sequence[Any], timeout: float, follows: bool):
        import torch.distributed as dist

        self.timeout, self.teams, self.rank, self.store = timeout, [], 0, None
        self.writer, self.lines, self.follows = writer, without_groups(text), follows
        self.shared = {"cluster": cluster_lines(cluster), "options": [str(options)]}
        self.parts: Dict[str, List[str]] = {}
        if not dist.is_available() or not dist.is_initialized() or dist.get_backend() == "fake":
            return
        self.rank = dist.get_rank()
        self.store = dist.distributed_c10d._get_default_store()
        listed = {tuple(sorted(ranks)) for _, ranks in writer.members.values() if ranks and len(ranks) > 1}
        for ranks in sorted(ranks for ranks in listed if self.rank in ranks):
            # the number tells the graphs of one group apart: members compile them in the same order
            self.teams.append((ranks, f"hirc/{digest([str(ranks)])[:16]}/{seen[ranks]}"))
            seen[ranks] += 1

    def publish(self, decision: Dict[str, Any], whole: Dict[str, Any]) -> None:
        packed = zlib.compress(json.dumps(whole).encode())
        for _, key in self.teams:
            self.store.set(f"{key}/{self.rank}/whole", packed)
            self.store.set(f"{key}/{self.rank}", json.dumps(decision))

    def fail(self, error: Exception) -> None:
        """Tells the others that this rank has no schedule."""
        told = {"error": f"{type(error).__name__}: {error}"}
        self.publish(told, told)
        for ranks, key in self.teams:
            if ranks[0] == self.rank:
                self.store.set(f"{key}/verdict", f"rank {self.rank} has no schedule: {told['error']}")

    def compare(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Returns the steps of this rank, when all members of all groups have decided alike. Raises Disagreement."""
        if not self.teams:
            return steps
        here = kinds(self.lines)
        graph = {"collectives": [here[name] for name in collectives(self.lines)]} if self.follows else {
            "graph": [without_names(line) for line in local_work(self.lines)]}
        self.parts = {**graph, **self.shared}
        steps = self.adopt(steps)
        self.parts["starts"] = starts(self.lines, steps)
        decision = {part: digest(lines) for part, lines in self.parts.items()}
        self.publish(decision, {**self.parts, "lines": self.lines,
                                "taken": [[step.kind, step.names, step.bucket] for step in steps]})
        for ranks, key in self.teams:
            if ranks[0] == self.rank:
                self.store.set(f"{key}/verdict", self.judge(ranks, key, decision))
        for ranks, key in self.teams:
            verdict = self.read(f"{key}/verdict", ranks[0], self.timeout * 1.5)
            if verdict:
                raise Disagreement(verdict.decode())
        return steps

    def adopt(self, steps: Sequence[Step]) -> Sequence[Step]:
        """Returns the steps of the lowest rank, in the terms of this graph; steps if this is the lowest."""
        ranks, key = min(self.teams, key=lambda team: team[0][0])
        if ranks[0] == self.rank:
            return steps
        other = json.loads(zlib.decompress(self.read(f"{key}/{ranks[0]}/whole", ranks[0], self.timeout)))
        if "error" in other:
            raise Disagreement(f"rank {ranks[0]} has no schedule: {other['error']}")
        if any(other.get(part) != lines for part, lines in self.parts.items()):
            return steps  # the verdict will say so
        taken = [Step(kind, tuple(names), bucket) for kind, names, bucket in other["taken"]]
        if self.lines == other["lines"]:
            return taken
        try:
            return follow(self.writer, self.lines, other["lines"], taken)
        except Unfollowable as error:
            told = Disagreement(f"rank {self.rank} cannot take the order of rank {ranks[0]}: {error}")
            self.fail(told)
            raise told from None

    def judge(self, ranks: Tuple[int, ...], key: str, decision: Dict[str, str]) -> str:
        for rank in ranks[1:]:
            try:
                other = json.loads(self.read(f"{key}/{rank}", rank, self.timeout))
            except Disagreement as late:
                return str(late)
            if "error" in other:
                return f"rank {rank} has no schedule: {other['error']}"
            if other != decision:
                whole = json.loads(zlib.decompress(self.read(f"{key}/{rank}/whole", rank, self.timeout)))
                return difference({**self.parts, "lines": self.lines}, whole, self.rank, rank)
        return ""

    def read(self, key: str, rank: int, timeout: float) -> bytes:
        try:
            self.store.wait([key], timedelta(seconds=timeout))
        except Exception as error:  # torch raises several kinds
            raise Disagreement(f"rank {rank} did not schedule this graph within {timeout:.0f} s, but rank {self.rank} "
                               "did: all ranks of a process group must compile the same graphs, in the same "
                               "order") from error
        return self.store.get(key)
