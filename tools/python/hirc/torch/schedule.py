"""schedule: from a GraphModule to a program, its schedule, and back."""
from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Union

import torch

from ..command import execute
from ..fx import Unknown, Writer
from . import agree, costs, writeback
from .plan import Figures, Step, predict, read_steps, run_hirc

BUCKETS = "pack", "coalesced", "none"


@dataclass(frozen=True)
class Schedule:
    """The schedule of a graph.

    steps           in order; a step is a node, or a collective or a wait of one node or of the members of a bucket
    before, after   predictions for the graph as it was, and as it is now
    program, scheduled   the text of the programs that hirc read and printed, for `hirc show`, `hirc explain` and others
    """

    steps: List[Step]
    before: Figures
    after: Figures
    program: str
    scheduled: str
    cluster: str

    @property
    def buckets(self) -> List[Sequence[str]]:
        """The names of the collectives of each bucket."""
        return [step.names for step in self.steps if step.bucket and step.kind == "comm"]

    def __str__(self) -> str:
        a, b = self.before, self.after
        return (f"step {a.step_ns / 1e6:.3f} ms -> {b.step_ns / 1e6:.3f} ms, exposed communication "
                f"{a.exposed_ns / 1e6:.3f} ms -> {b.exposed_ns / 1e6:.3f} ms, peak {a.peak_bytes / 2**20:.1f} MiB -> "
                f"{b.peak_bytes / 2**20:.1f} MiB, {len(self.buckets)} buckets")

    def draw(self, before: Union[str, "os.PathLike[str]", None], after: Union[str, "os.PathLike[str]", None]) -> None:
        """Writes the timelines before and after as pictures (SVG). None: not this one."""
        for path, text in ((before, self.program), (after, self.scheduled)):
            if path is not None:
                execute(["sim", f"--cluster={self.cluster}", f"--svg={os.fspath(path)}", "--", "-"], text, 0)


def read_limit(memory_limit: Union[int, float, str, None]) -> Optional[str]:
    """Returns a memory limit as hirc reads it."""
    if memory_limit is None:
        return None
    whole = isinstance(memory_limit, (int, float)) and memory_limit >= 1 and memory_limit == int(memory_limit)
    if not whole and not re.fullmatch(r"0*[1-9][0-9]*[kKmMgGtT]?", str(memory_limit)):
        raise ValueError(f"memory_limit is a number of bytes, or text such as '80G', not {memory_limit!r}")
    return str(int(memory_limit)) if whole else str(memory_limit)


def check_options(buckets: str, effort: int, memory_limit: Union[int, float, str, None]) -> None:
    if buckets not in BUCKETS:
        raise ValueError(f"buckets is one of {', '.join(BUCKETS)}, not {buckets!r}")
    if effort not in (0, 1, 2, 3):
        raise ValueError(f"effort is a number from 0 to 3, not {effort!r}")
    read_limit(memory_limit)


def schedule(graph_module: Any, *, cluster: Union[str, "os.PathLike[str]"],
             memory_limit: Union[int, float, str, None] = None, effort: int = 2, buckets: str = "pack",
             times: Any = None, groups: Optional[Mapping[str, Any]] = None, sizes: Optional[Mapping[str, int]] = None,
             compare: bool = True, follow: bool = False, timeout: float = 300,
             args: Sequence[str] = ()) -> Optional[Schedule]:
    """Orders a graph so that its functional collectives run beside work, and puts them into buckets. The graph is
    changed in place. Returns the schedule; None if the graph has no functional collectives, so nothing changes.

    cluster       a cluster file of `hirc bench`, or the name of a built-in cluster, such as h100
    memory_limit  bytes that may be live at any moment, or text such as "60G"; None: as schedule-overlap chooses it from
                  the graph's own peak
    effort        0 to 3: how long hirc searches
    buckets       "pack": collectives of a bucket become one on a packed tensor; "coalesced": they become one coalesced
                  collective; "none"
    times         where times come from. None: operations, bytes and the cluster. "torch": PyTorch's own estimates. A
                  path ("*.json", "*.json.gz"): a trace of one step by torch.profiler, best with record_shapes=True. A
                  dictionary of nanoseconds by the names of nodes, or a function of a node. Nodes that a trace, a
                  dictionary or a function does not know have the cluster's times.
    groups, sizes sizes of process groups, and values of symbols, as in hirc.from_fx. Other symbols for sizes that depend
                  on data, as the tokens of an expert do, have PyTorch's guess: a hint of torch._check or mark_unbacked,
                  or torch._inductor.config.unbacked_symint_fallback
    compare       compare the decision with the other ranks of the graph's process groups
    follow        let the graphs of ranks differ in all local work, not only in views, as with a vocabulary that is
                  spread over ranks. Ranks take the order of the lowest rank in their groups, which may need more memory
                  than memory_limit in a graph that differs
    timeout       seconds to wait for their decisions
    args          more options of hirc compile

    Raises hirc.Error if hirc finds no schedule, as within a memory limit that is too small; hirc.fx.Unknown, a
    ValueError, if the graph lacks a fact; Disagreement if another rank has another graph, cluster file or times.
    """
    if not isinstance(graph_module, torch.fx.GraphModule):
        raise TypeError(f"schedule takes a torch.fx.GraphModule, not {type(graph_module).__name__}: "
                        "torch.export.export(model, inputs).module() is one")
    check_options(buckets, effort, memory_limit)
    given = os.fspath(cluster)
    chosen = costs.choose(graph_module, times)

    def read(writer: Writer) -> str:
        writer.read()
        chosen.add_tables(writer)
        return writer.text("graph")

    writer = Writer(graph_module, chosen.of_node, groups, sizes, guess=True)
    if not any(writer.collective(node) == "wait" for node in graph_module.graph.nodes):
        return None
    text, limit = read(writer), read_limit(memory_limit)
    exchange = agree.Exchange(writer, text, given, (effort, limit, buckets, list(args)), timeout,
                              follow) if compare else None
    try:
        scheduled = run_hirc(text, given, effort, limit, buckets, args)
        own = read_steps(scheduled)
        before, after = predict(text, given), predict(scheduled, given)
    except Exception as error:
        if exchange:
            exchange.fail(error)
        raise
    steps = exchange.compare(own) if exchange else own
    writeback.apply(graph_module, steps, buckets == "coalesced")
    if list(steps) != own:  # of another rank
        scheduled = read(Writer(graph_module, chosen.of_node, groups, sizes, guess=True))
        after = predict(scheduled, given)
    return Schedule(list(steps), before, after, text, scheduled, given)


__all__ = ["Schedule", "Unknown", "schedule"]
