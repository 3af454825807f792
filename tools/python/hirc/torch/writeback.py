"""Writes a schedule into a graph: moves nodes, and makes nodes of buckets.

A bucket of allgathers, packed:

    a = all_gather(x, n)                  p = cat([x.view(-1), y.view(-1)])
    b = all_gather(y, n)                  g = all_gather(p, n)
    c = wait(a)                      →    w = wait(g).view(n, -1)
    d = wait(b)                           c, d = w.split([numel(x), numel(y)], 1), each reshaped

Reductions are packed so that the parts of the result stand one after the other: of a reduce_scatter, block k of the
packed tensor has the blocks k of all members. Coalesced:

    a = all_gather(x, n)                  g = all_gather_coalesced([x, y], n)
    b = all_gather(y, n)             →    a, b = g[0], g[1]
    c = wait(a); d = wait(b)              c = wait(a); d = wait(b)

Inputs and attributes keep their place at the start. All other nodes follow in the order of the schedule.
"""
from __future__ import annotations

import operator
from typing import Any, Dict, List, Sequence

import torch
from torch.utils import _pytree as pytree

from .plan import Step

OPS = torch.ops._c10d_functional
ATEN = torch.ops.aten
COALESCED = {"all_gather_into_tensor": "all_gather_into_tensor_coalesced",
             "reduce_scatter_tensor": "reduce_scatter_tensor_coalesced", "all_reduce": "all_reduce_coalesced"}
COPIED = "stack_trace", "nn_module_stack", "source_fn_stack", "seq_nr"  # from a member to the nodes of its bucket
FIRST = "placeholder", "get_attr"


class Emitter:
    """Appends nodes before the output, with their fake tensors in meta["val"]."""

    def __init__(self, module: torch.fx.GraphModule, output: torch.fx.Node):
        self.module, self.graph, self.output = module, module.graph, output
        self.origin: Any = None  # a member of the bucket
        self.modes = torch._guards.detect_fake_mode(
            [x for n in self.graph.nodes for x in pytree.tree_leaves(n.meta.get("val"))][:1])

    def value(self, x: Any) -> Any:
        if not isinstance(x, torch.fx.Node):
            return x
        return x.meta["val"] if "val" in x.meta else operator.attrgetter(x.target)(self.module)

    def call(self, target: Any, *args: Any) -> torch.fx.Node:
        with self.graph.inserting_before(self.output):
            node = self.graph.call_function(target, args)
        node.meta.update({k: self.origin.meta[k] for k in COPIED if k in self.origin.meta})
        if self.modes is not None:
            inputs = torch.fx.node.map_aggregate(args, self.value)
            with self.modes:
                node.meta["val"] = target(*inputs)
        return node

    # ---- shapes: numbers, or nodes of them where they are symbolic

    def shape(self, x: torch.fx.Node) -> Sequence[Any]:
        recorded = x.meta["val"] if "val" in x.meta else x.meta["tensor_meta"]
        return [n if isinstance(n, int) else self.call(ATEN.sym_size.int, x, k) for k, n in enumerate(recorded.shape)]

    def numel(self, x: torch.fx.Node) -> Any:
        count = 1
        for n in self.shape(x):
            if not isinstance(n, int):
                return self.call(ATEN.sym_numel.default, x)
            count *= n
        return count

    def flat(self, x: torch.fx.Node, *shape: Any) -> torch.fx.Node:
        return self.call(ATEN.reshape.default, x, list(shape))

    def parts(self, x: torch.fx.Node, sizes: Sequence[Any], dimension: int) -> List[torch.fx.Node]:
        whole = self.call(ATEN.split_with_sizes.default, x, list(sizes), dimension)
        return [self.call(operator.getitem, whole, k) for k in range(len(sizes))]


def operand(collective: torch.fx.Node) -> torch.fx.Node:
    return collective.args[0]


def packet(node: torch.fx.Node) -> str:
    return node.target._schema.name.partition("::")[2]


def argument(node: torch.fx.Node, name: str) -> Any:
    for k, a in enumerate(node.target._schema.arguments):
        if a.name == name:
            return node.args[k] if k < len(node.args) else node.kwargs.get(name, a.default_value)
    return None


def plain(node: torch.fx.Node) -> torch.fx.Node:
    """Gives a collective all its arguments by position."""
    node.args = tuple(argument(node, a.name) for a in node.target._schema.arguments)
    node.kwargs = {}
    return node


class Bucket:
    """The members of a bucket, between the collective's step and that of the wait."""

    def __init__(self, members: List[torch.fx.Node]):
        self.members = [plain(m) for m in members]
        self.kind = packet(members[0])
        self.dtypes = [dtype_of(operand(m)) for m in members]
        self.bytes = len(set(self.dtypes)) > 1
        self.started: Any = None

    def start(self, emit: Emitter) -> None:
        """Packs the operands and starts the collective on the packed tensor."""
        first = emit.origin = self.members[0]
        inputs = [self.real(emit, operand(m)) for m in self.members]
        if self.kind == "reduce_scatter_tensor":
            n = argument(first, "group_size")
            packed = emit.call(ATEN.cat.default, [emit.flat(x, n, -1) for x in inputs], 1)
            packed = emit.flat(packed, -1)
        else:
            packed = emit.call(ATEN.cat.default, [emit.flat(x, -1) for x in inputs])
        self.started = emit.call(first.target, packed, *first.args[1:])

    def real(self, emit: Emitter, x: torch.fx.Node) -> torch.fx.Node:
        """Returns an operand with a dtype that all members have: complex numbers are pairs, others bytes."""
        if not self.bytes:
            return x
        if self.kind == "all_gather_into_tensor":
            return emit.call(ATEN.view.dtype, emit.flat(x, -1), torch.uint8)
        return emit.call(ATEN.view_as_real.default, x) if dtype_of(x).is_complex else x

    def wait(self, emit: Emitter, waits: List[torch.fx.Node]) -> None:
        """Waits for the collective; the parts of its result take the places of the waits."""
        emit.origin = waits[0]
        done = emit.call(OPS.wait_tensor.default, self.started)
        if self.kind == "all_gather_into_tensor":
            n = argument(self.members[0], "group_size")
            sizes = [self.count(emit, k) for k in range(len(self.members))]
            pieces = emit.parts(emit.flat(done, n, -1), sizes, 1)
        else:
            divide = argument(self.members[0], "group_size") if self.kind == "reduce_scatter_tensor" else 1
            sizes = [ratio(emit, self.count(emit, k), divide) for k in range(len(self.members))]
            pieces = emit.parts(done, sizes, 0)
        for k, (member, wait, piece) in enumerate(zip(self.members, waits, pieces)):
            emit.origin = wait
            if self.bytes and self.kind == "all_gather_into_tensor":
                piece = emit.call(ATEN.view.dtype, emit.flat(piece, -1), self.dtypes[k])
            shape = emit.shape(operand(member)) or [1]
            if self.bytes and self.kind != "all_gather_into_tensor" and self.dtypes[k].is_complex:
                piece = emit.call(ATEN.view_as_complex.default, emit.flat(piece, -1, *shape[1:], 2))
            scalar = self.kind == "all_reduce" and not emit.shape(operand(member))
            wait.replace_all_uses_with(emit.flat(piece, *([] if scalar else [leading(self.kind, member, shape),
                                                                             *shape[1:]])))
        for node in (*waits, *self.members):
            emit.graph.erase_node(node)

    def count(self, emit: Emitter, k: int) -> Any:
        """Returns the elements that a member has in the packed tensor of one rank's operands."""
        n, dtype = emit.numel(operand(self.members[k])), self.dtypes[k]
        if not self.bytes:
            return n
        times = dtype.itemsize if self.kind == "all_gather_into_tensor" else 2 if dtype.is_complex else 1
        return n * times if isinstance(n, int) else emit.call(operator.mul, n, times)


def leading(kind: str, member: torch.fx.Node, shape: Sequence[Any]) -> Any:
    """Returns the first extent of a member's result."""
    if not isinstance(shape[0], int):
        return -1
    if kind == "all_gather_into_tensor":
        return shape[0] * argument(member, "group_size")
    return shape[0] // argument(member, "group_size") if kind == "reduce_scatter_tensor" else shape[0]


def ratio(emit: Emitter, n: Any, divide: int) -> Any:
    return n // divide if isinstance(n, int) else emit.call(operator.floordiv, n, divide)


def dtype_of(node: torch.fx.Node) -> torch.dtype:
    return (node.meta["val"] if "val" in node.meta else node.meta["tensor_meta"]).dtype


class Coalesced(Bucket):
    """The same for coalesced collectives: waits stay, and wait for the parts. Backends take tensors of one dtype, so
    members of each dtype have a coalesced collective; complex numbers have none."""

    def start(self, emit: Emitter) -> None:
        self.started: Dict[torch.fx.Node, torch.fx.Node] = {}  # by member: its part
        teams: Dict[Any, List[torch.fx.Node]] = {}
        for member, dtype in zip(self.members, self.dtypes):
            teams.setdefault((packet(member), dtype), []).append(member)
        for (kind, dtype), team in teams.items():
            if kind not in COALESCED or dtype.is_complex or len(team) == 1:
                for member in team:
                    emit.output.prepend(member)
                continue
            emit.origin = team[0]
            whole = emit.call(getattr(OPS, COALESCED[kind]).default, [operand(m) for m in team], *team[0].args[1:])
            self.started.update({m: emit.call(operator.getitem, whole, k) for k, m in enumerate(team)})

    def wait(self, emit: Emitter, waits: List[torch.fx.Node]) -> None:
        for member, wait in zip(self.members, waits):
            emit.output.prepend(wait)
            if member in self.started:
                wait.args = (self.started[member],)
                emit.graph.erase_node(member)


def apply(module: torch.fx.GraphModule, steps: Sequence[Step], coalesced: bool = False) -> None:
    """Puts the nodes of a graph into the order of steps, and makes its buckets."""
    graph = module.graph
    nodes = {n.name: n for n in graph.nodes}
    named = [name for step in steps for name in step.names]
    if len(named) != len(set(named)) or set(named) != set(nodes):
        odd = sorted(set(named) ^ set(nodes))
        named = ", ".join(odd[:5]) or "a node is there twice"
        raise AssertionError(f"the schedule does not have each node once: {named}")
    output = next(n for n in reversed(graph.nodes) if n.op == "output")
    emit = Emitter(module, output)
    open_buckets: Dict[str, Bucket] = {}
    for step in steps:
        members = [nodes[name] for name in step.names]
        if not step.bucket:
            if members[0].op not in (*FIRST, "output"):
                output.prepend(members[0])
        elif step.kind == "comm":
            bucket = (Coalesced if coalesced else Bucket)(members)
            open_buckets.update({m.name: bucket for m in members})
            bucket.start(emit)
        else:
            bucket = open_buckets[members[0].args[0].name]
            by_operand = {w.args[0]: w for w in members}
            bucket.wait(emit, [by_operand[m] for m in bucket.members])
    graph.lint()
    module.recompile()
