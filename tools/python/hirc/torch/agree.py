"""All ranks decide alike: compares graph, cluster, options and schedule of the members of each process group.

Ranks that start the collectives of a group in different orders wait for each other for ever. So nobody writes a
schedule into a graph before all members of its groups have found the same one. They meet in the store of
torch.distributed:

    member: publishes the hashes of its decision, and waits for the verdict of the group
    first member: reads the hashes of all members, and publishes the verdict: nothing, or the difference in words

The verdict of a group comes from its lowest rank, and a rank judges its own groups before it waits for others, so ranks
do not wait in a cycle. Groups may have other names and members on other ranks, so a graph is compared without these:
a group is its number in the order of appearance.
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
    for part in ("graph", "cluster", "options", "steps"):
        a, b = mine[part], other[part]
        at = next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        if at == len(a) == len(b):
            continue
        here, there = (lines[at].strip() if at < len(lines) else "nothing more" for lines in (a, b))
        shown = f"\n  rank {me}: {here}\n  rank {rank}: {there}"
        if part == "graph":
            name = node_name(a[at] if at < len(a) else b[at])
            strip = lambda line: re.sub(r"[{ ]time=\d+", "", line)
            if at < len(a) and at < len(b) and strip(a[at]) == strip(b[at]):
                return f"ranks {me} and {rank} have other times of node {name}: give all ranks the same times{shown}"
            return (f"ranks {me} and {rank} have different graphs, from node {name} on: all ranks of a process group "
                    f"must compile the same graph with the same shapes{shown}")
        if part == "cluster":
            return f"ranks {me} and {rank} have different cluster files, from line {at + 1} on: copy one to all{shown}"
        if part == "options":
            return f"ranks {me} and {rank} have different options of the schedule{shown}"
        return (f"ranks {me} and {rank} found different schedules, from step {at + 1} on, since the cluster has other "
                f"links for the members of their groups: state a cluster whose hosts all have as many devices{shown}")
    return ""


class Exchange:
    """The comparison of one graph. Without torch.distributed there is nothing to compare."""

    def __init__(self, writer: Any, text: str, cluster: str, options: Sequence[Any], timeout: float):
        import torch.distributed as dist

        self.timeout, self.teams, self.rank, self.store = timeout, [], 0, None
        self.parts = {"graph": without_groups(text), "cluster": cluster_lines(cluster),
                      "options": [str(options)], "steps": []}
        if not dist.is_available() or not dist.is_initialized() or dist.get_backend() == "fake":
            return
        self.rank = dist.get_rank()
        self.store = dist.distributed_c10d._get_default_store()
        listed = {tuple(sorted(ranks)) for _, ranks in writer.members.values() if ranks and len(ranks) > 1}
        for ranks in sorted(ranks for ranks in listed if self.rank in ranks):
            # the number tells the graphs of one group apart: members compile them in the same order
            self.teams.append((ranks, f"hirc/{digest([str(ranks)])[:16]}/{seen[ranks]}"))
            seen[ranks] += 1

    def publish(self, decision: Dict[str, Any]) -> None:
        for _, key in self.teams:
            self.store.set(f"{key}/{self.rank}", json.dumps(decision))

    def fail(self, error: Exception) -> None:
        """Tells the others that this rank has no schedule."""
        self.publish({"error": f"{type(error).__name__}: {error}"})
        for ranks, key in self.teams:
            if ranks[0] == self.rank:
                self.store.set(f"{key}/verdict", f"rank {self.rank} has no schedule: {type(error).__name__}: {error}")

    def compare(self, steps: Sequence[Step]) -> None:
        """Returns when all members of all groups have decided alike. Raises Disagreement."""
        if not self.teams:
            return
        self.parts["steps"] = [str(step) for step in steps]
        whole = zlib.compress(json.dumps(self.parts).encode())
        for _, key in self.teams:
            self.store.set(f"{key}/{self.rank}/whole", whole)
        decision = {part: digest(lines) for part, lines in self.parts.items()}
        self.publish(decision)
        for ranks, key in self.teams:
            if ranks[0] == self.rank:
                self.store.set(f"{key}/verdict", self.judge(ranks, key, decision))
        for ranks, key in self.teams:
            verdict = self.read(f"{key}/verdict", ranks[0], self.timeout * 1.5)
            if verdict:
                raise Disagreement(verdict.decode())

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
                return difference(self.parts, whole, self.rank, rank)
        return ""

    def read(self, key: str, rank: int, timeout: float) -> bytes:
        try:
            self.store.wait([key], timedelta(seconds=timeout))
        except Exception as error:  # torch raises several kinds
            raise Disagreement(f"rank {rank} did not schedule this graph within {timeout:.0f} s, but rank {self.rank} "
                               "did: all ranks of a process group must compile the same graphs, in the same "
                               "order") from error
        return self.store.get(key)
