"""Times of nodes and collectives, from one of several sources.

| times=       | computation                              | collectives                                      |
|--------------|------------------------------------------|--------------------------------------------------|
| None         | operations and bytes, by the cluster     | the cluster                                      |
| "torch"      | PyTorch's estimates                      | PyTorch's estimates, as a table of the group     |
| a trace      | the median by name and shapes, then name | a table of the group, from two sizes of messages |
| others       | as hirc.from_fx takes them               | as hirc.from_fx takes them                       |

A table has times by the bytes of the operand, so that buckets have times too:

    group g0(8) {allgather=(1048576, 100000, 2097152, 150000)}

A trace is the JSON of torch.profiler (Kineto). On a GPU the time of an operation is that of its kernels.
"""
from __future__ import annotations

import gzip
import json
import os
import re
import statistics
from collections import defaultdict
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch.utils import _pytree as pytree

BYTES = {"float": 4, "double": 8, "half": 2, "bfloat16": 2, "char": 1, "byte": 1, "int": 4, "long": 8, "bool": 1,
         "c10::bfloat16": 2, "c10::half": 2, "long int": 8, "unsigned char": 1, "signed char": 1}
KINDS = (("reducescatter", "reduce_scatter"), ("allgather", "allgather"), ("allreduce", "allreduce"),
         ("alltoall", "all_to_all"), ("broadcast", "broadcast_from"))
TABLED = {kind for _, kind in KINDS}


class Costs:
    """Times by node, and tables of times by size. None: the cluster's."""

    def __init__(self, of_node: Any = None):
        self.of_node = of_node

    def points(self, writer: Any, node: torch.fx.Node, kind: str) -> Dict[int, int]:
        """Returns times in ns by the bytes of the operand, of collectives like this one."""
        return {}

    def add_tables(self, writer: Any) -> None:
        """Gives the groups of a graph their tables."""
        found: Dict[str, Dict[str, Dict[int, int]]] = defaultdict(dict)
        declared = dict(writer.groups.values())
        for node in writer.graph.nodes:
            kind = writer.collective(node)
            if kind in TABLED:
                text = declared[writer.group(node)]
                found[text].setdefault(kind, {}).update(self.points(writer, node, kind))
        for text, kinds in found.items():
            tables = []
            for kind, points in kinds.items():
                if len(points) > 1:  # one point says nothing about other sizes
                    listed, longest = [], 0
                    for size, time in sorted(points.items()):
                        longest = max(longest, time)
                        listed += [size, longest]
                    tables.append(f"{kind}=({', '.join(map(str, listed))})")
            if tables:
                writer.tables[text] = f" {{{', '.join(tables)}}}"


def operand_bytes(writer: Any, node: torch.fx.Node) -> int:
    return sum(v.size() for v in writer.operands(node) if v.dtype)


class Estimates(Costs):
    """PyTorch's own estimates, which its overlap pass uses."""

    SIZES = [1 << k for k in range(10, 31, 2)]  # of operands, beside those of the graph

    def __init__(self, module: torch.fx.GraphModule):
        from torch._inductor.fx_passes import overlap_scheduling

        self.estimate = overlap_scheduling.estimate_collective_time
        found = overlap_scheduling.gather_node_runtime_estimations(module)
        space = "_c10d_functional"
        self.times = {n: round(ms * 1e6) for n, ms in found.items() if getattr(n.target, "namespace", None) != space}
        super().__init__(self.times.get)

    def points(self, writer: Any, node: torch.fx.Node, kind: str) -> Dict[int, int]:
        from torch._inductor import comm_analysis

        own = operand_bytes(writer, node)
        if not own:
            return {}
        scale = comm_analysis.estimate_fx_collective_size(node) / own
        return {size: round(self.estimate(node, override_size=round(size * scale)) * 1e6)
                for size in {own, *self.SIZES}}


# ---- traces


def shapes_of(x: Any) -> Tuple[Tuple[int, ...], ...]:
    """Returns the shapes among the `Input Dims` of an event. A scalar has none, nor has a tensor without dimensions."""
    if not isinstance(x, list) or not x:
        return ()
    if all(isinstance(n, int) for n in x):
        return (tuple(x),)
    return tuple(shape for part in x for shape in shapes_of(part))


def kind_of(name: str) -> Optional[str]:
    plain = re.sub(r"[^a-z]", "", name.lower())
    return next((kind for word, kind in KINDS if word in plain), None)


class Trace(Costs):
    """The medians of a trace of torch.profiler."""

    def __init__(self, path: str):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
            recorded = json.load(file)
        events = recorded.get("traceEvents") if isinstance(recorded, dict) else recorded
        if not isinstance(events, list):
            raise ValueError(f"{path}: no traceEvents: this is no trace of torch.profiler")
        events = [e for e in events if e.get("ph") == "X" and "dur" in e]
        operations = [e for e in events if e.get("cat") == "cpu_op"]
        if not operations:
            raise ValueError(f"{path}: no operations: profile a step with torch.profiler.ProfilerActivity.CPU")
        self.by_shape: Dict[Any, List[float]] = defaultdict(list)
        self.by_name: Dict[str, List[float]] = defaultdict(list)
        self.messages: Dict[Tuple[str, Optional[int], int], List[float]] = defaultdict(list)
        for event, time in durations(operations, [e for e in events if e.get("cat") == "kernel"]):
            dims = event.get("args", {}).get("Input Dims")
            self.by_name[event["name"]].append(time)
            if dims is not None:
                self.by_shape[event["name"], shapes_of(dims)].append(time)
        for event in events:
            self.add_message(event)
        super().__init__(self.time)

    def add_message(self, event: dict) -> None:
        args = event.get("args", {})
        if event["name"].startswith("gloo:"):
            kind, size = kind_of(event["name"]), None
            width = BYTES.get(next(iter(args.get("Input type", [])), ""), 0)
            moved = shapes_of(args.get("Input Dims"))[:1]
            count = 1
            for n in moved[0] if moved else ():
                count *= n
        elif event.get("cat") == "kernel" and "Collective name" in args:
            kind, size = kind_of(args["Collective name"]), args.get("Group size")
            width, count = BYTES.get(str(args.get("dtype", "")).lower(), 0), args.get("In msg nelems", 0)
        else:
            return
        if kind and width and count:
            self.messages[kind, size, count * width].append(event["dur"])

    def time(self, node: torch.fx.Node) -> Optional[int]:
        schema = getattr(node.target, "_schema", None)
        if schema is None or schema.name.startswith(("_c10d_functional", "c10d_functional")):
            return None
        key = schema.name, tuple(tuple(x.shape) for x in inputs_of(node) if x.dim())
        found = self.by_shape.get(key) or self.by_name.get(schema.name)
        return round(statistics.median(found) * 1000) if found else None

    def points(self, writer: Any, node: torch.fx.Node, kind: str) -> Dict[int, int]:
        members = writer.members[writer.group(node)][0]
        return {size: round(statistics.median(times) * 1000) for (word, n, size), times in self.messages.items()
                if word == kind and n in (None, members)}


def inputs_of(node: torch.fx.Node) -> List[torch.Tensor]:
    """Returns the tensors among the arguments of a node, in their order."""
    values = [n.meta.get("val") for n in pytree.tree_leaves((node.args, node.kwargs)) if isinstance(n, torch.fx.Node)]
    return [x for x in values if isinstance(x, torch.Tensor)]


def durations(operations: List[dict], kernels: List[dict]):
    """Yields the operations of a trace with their times in us: of their kernels, if there are any."""
    if not kernels:
        yield from ((e, e["dur"]) for e in operations)
        return
    inside: Dict[Any, float] = defaultdict(float)
    for kernel in kernels:
        inside[kernel.get("args", {}).get("External id")] += kernel["dur"]
    threads: Dict[Any, List[dict]] = defaultdict(list)
    for event in operations:
        threads[event.get("pid"), event.get("tid")].append(event)
    for thread in threads.values():
        stack: List[list] = []  # the operations that have begun: end, event, time
        for event in sorted(thread, key=lambda e: (e["ts"], -e["dur"])):
            while stack and stack[-1][0] <= event["ts"]:
                _, done, time = stack.pop()
                yield done, time
            own = inside.get(event.get("args", {}).get("External id"), 0.0)
            for outer in stack:
                outer[2] += own
            stack.append([event["ts"] + event["dur"], event, own])
        yield from ((done, time) for _, done, time in stack)


def choose(module: torch.fx.GraphModule, times: Any) -> Costs:
    """Returns the source of times that the argument `times` of schedule names."""
    if times == "torch":
        return Estimates(module)
    if isinstance(times, (str, os.PathLike)):
        return Trace(os.fspath(times))
    return Costs(times)
