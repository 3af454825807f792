"""OverlapPass: the schedule as a pass of Inductor, and the order kept in the code that Inductor makes.

Inductor's own scheduler fuses, and reorders for memory. A chain of dependencies keeps it from undoing the schedule:

    start a  →  mm  →  wait a  →  start b  →  mm  →  wait b

The links are collectives, waits, and the products between them; between two of them that have no product, the last
other operation. Each is wrapped in control_deps on the one before it. All other operations stay free, so that they
can be fused.
"""
from __future__ import annotations

import hashlib
import inspect
import os
import warnings
from typing import Any, List, Optional, Union

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._inductor.pattern_matcher import stable_topological_sort

from .. import command
from .agree import cluster_lines
from .schedule import BUCKETS, Schedule, check_options, schedule

REORDERING = ("reorder_for_compute_comm_overlap", "aten_distributed_optimizations.enable_overlap_scheduling",
              "bucket_all_gathers_fx", "bucket_reduce_scatters_fx", "bucket_all_reduces_fx", "_micro_pipeline_tp")
SPACE = "_c10d_functional"


def is_product(node: torch.fx.Node) -> bool:
    from torch.utils.flop_counter import flop_registry

    return node.op == "call_function" and getattr(node.target, "overloadpacket", node.target) in flop_registry


def is_link(node: torch.fx.Node) -> bool:
    return getattr(node.target, "namespace", None) == SPACE or is_product(node)


def has_kernel(node: torch.fx.Node) -> bool:
    """Returns true if an operation may become a kernel of its own: it makes one tensor, which is no view."""
    schema = getattr(node.target, "_schema", None)
    return (node.op == "call_function" and schema is not None and isinstance(node.meta.get("val"), torch.Tensor)
            and not any(a.alias_info for a in schema.arguments))


def chain_of(graph: torch.fx.Graph) -> List[torch.fx.Node]:
    """Returns the nodes whose order Inductor must keep."""
    chain: List[torch.fx.Node] = []
    last: Optional[torch.fx.Node] = None  # the last operation since a collective or wait, if no product came since
    for node in graph.nodes:
        if is_link(node):
            if last is not None and not is_product(node):
                chain.append(last)
            chain.append(node)
            last = None
        elif has_kernel(node) and chain and not is_product(chain[-1]):
            last = node
    return chain


def keep_order(graph: torch.fx.Graph) -> None:
    """Makes each node of the chain depend on the one before it."""
    from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
    from torch.utils._ordered_set import OrderedSet

    chain = chain_of(graph)
    preserve_node_ordering(graph, {node: OrderedSet([before]) for before, node in zip(chain, chain[1:])})


class OverlapPass(CustomGraphPass):
    """A pass for `torch._inductor.config.post_grad_custom_post_pass`. It schedules each graph with functional
    collectives, forward and backward. The options are those of hirc.torch.schedule.

    schedules   a list of the hirc.torch.Schedule of each graph, in the order in which Inductor compiled them
    """

    def __init__(self, *, cluster: Union[str, "os.PathLike[str]"], memory_limit: Union[int, float, str, None] = None,
                 effort: int = 2, **options: Any):
        self.cluster, self.options = os.fspath(cluster), {"memory_limit": memory_limit, "effort": effort, **options}
        inspect.signature(schedule).bind(None, cluster=cluster, **self.options)  # raises TypeError of unknown options
        check_options(options.get("buckets", BUCKETS[0]), effort, memory_limit)
        self.schedules: List[Schedule] = []
        self.warned = False

    def __call__(self, graph: torch.fx.Graph) -> None:
        if not any(getattr(node.target, "namespace", None) == SPACE for node in graph.nodes):
            self.warn_of_hooks()
            return
        self.refuse_others()
        stable_topological_sort(graph)  # passes before this one, as that for DDP, leave nodes before those that they need
        result = schedule(graph.owning_module, cluster=self.cluster, **self.options)
        if result:
            keep_order(graph)
            self.schedules.append(result)

    def warn_of_hooks(self) -> None:
        """Says once why nothing is scheduled, if several ranks compile a graph without collectives."""
        import torch.distributed as dist

        if self.warned or self.schedules or not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
            return
        self.warned = True
        warnings.warn("hirc.torch.OverlapPass: this graph has no functional collectives, so nothing of it is scheduled; "
                      "other graphs of the model may have some. DDP and FSDP2 (fully_shard) start theirs in hooks, "
                      "outside of compiled graphs; DTensor and torch.distributed._functional_collectives have them in "
                      "the graph, and DDP with compiled autograd and torch._dynamo.config.optimize_ddp = "
                      "'python_reducer'", stacklevel=2)

    @staticmethod
    def refuse_others() -> None:
        """Raises ValueError if another pass would move collectives after this one."""
        config = torch._inductor.config
        for name in REORDERING:
            value: Any = config
            for part in name.split("."):
                value = getattr(value, part, None)
            if value not in (None, False, "none"):
                raise ValueError(f"torch._inductor.config.{name} is {value!r}, so Inductor would undo the schedule of "
                                 f"hirc: set it to {'none' if isinstance(value, str) else False!r}")

    def uuid(self) -> Optional[str]:
        """Returns a hash of all that decides: this package, hirc, the cluster file and the options.

        Inductor finds compiled graphs in its cache by it. None: the cache is not used. A rank that takes a graph from
        its cache meets nobody in compare, so several ranks use the cache only with compare=False."""
        import torch.distributed as dist

        several = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        times = self.options.get("times")
        if (several and self.options.get("compare", True)) or callable(times):
            return None
        folder = os.path.dirname(os.path.abspath(__file__))
        sources = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
        sources.append(os.path.join(os.path.dirname(folder), "fx.py"))
        if isinstance(times, (str, os.PathLike)) and times != "torch":
            sources.append(os.fspath(times))
        hashed = hashlib.sha256(command.version().encode())
        for path in sources:
            with open(path, "rb") as file:
                hashed.update(file.read())
        hashed.update("\n".join(cluster_lines(self.cluster)).encode())
        hashed.update(repr(sorted(self.options.items())).encode())
        return hashed.hexdigest()
