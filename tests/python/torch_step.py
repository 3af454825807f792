#!/usr/bin/env python3
"""hirc.torch.OverlapPass in torch.compile: steps of models on 2 and 4 ranks, forward, backward and optimizer.

    torch_step.py HIRC [--ranks N] [MODEL…]

For each model: results, gradients and weights after the step are those of the compiled model without the pass; the
profiler's trace has collectives, waits and products in the order of the schedules; by hirc's model, no schedule takes
more time than that of PyTorch's own overlap pass within the same memory. Times of both are printed, not judged.
"""
import copy
import os
import sys
import tempfile
import time

from torch_ranks import check, dist, ranks, torch

import hirc.torch
import torch_models
from hirc.torch import inductor, plan

CLUSTER = "h100"
SILENT = "fsdp2", "data_parallel"  # their hooks run outside of graphs, and break these: Inductor compiles nothing


def own_pass(graph):
    """Returns the figures of PyTorch's own pass on a copy of a graph, by hirc's model."""
    from torch._inductor.fx_passes.overlap_scheduling import schedule_overlap_bucketing

    module = copy.deepcopy(graph.owning_module)
    schedule_overlap_bucketing(module, collective_bucketing=True, collective_estimator="analytical",
                               compute_estimator="analytical")
    return plan.predict(hirc.from_fx(module).text, CLUSTER)


class Recorded(hirc.torch.OverlapPass):
    """An OverlapPass that also runs PyTorch's own pass on a copy of each graph, and keeps the chains."""

    def __init__(self, **options):
        super().__init__(**options)
        self.others, self.chains, self.within = [], [], []

    def __call__(self, graph):
        if not any(inductor.is_link(n) and not inductor.is_product(n) for n in graph.nodes):
            super().__call__(graph)
            return
        self.others.append(own_pass(graph))
        same_memory = copy.deepcopy(graph.owning_module)
        self.within.append(hirc.torch.schedule(same_memory, cluster=CLUSTER, effort=2,
                                               memory_limit=self.others[-1].peak_bytes))
        keep = inductor.keep_order
        inductor.keep_order = lambda g: (self.chains.append([name_of(n) for n in inductor.chain_of(g)]), keep(g))
        try:
            super().__call__(graph)
        finally:
            inductor.keep_order = keep


def name_of(node):
    return plain(node.target.name().split(".")[0])


def plain(name):
    """Returns the name of an operation without the endings of its variants."""
    return name.removesuffix("_out").removesuffix("_") if name.startswith("_c10d_functional") else name


def local(x):
    return (x.to_local() if hasattr(x, "to_local") else x).detach().clone()


def one_step(model, compiled, optimizer, inputs):
    optimizer.zero_grad()
    out = compiled(*inputs)
    loss = local(out) if not out.requires_grad else out
    loss.float().square().mean().backward()
    gradients = [local(p.grad) for p in model.parameters() if p.grad is not None]
    optimizer.step()
    return [local(out), *gradients, *map(local, model.parameters())]


def events(profiler, wanted):
    """Returns the wanted operations of a trace in the order of their starts, without those inside others."""
    found, until = [], {}
    for event in sorted(profiler.events(), key=lambda e: (e.time_range.start, -e.time_range.end)):
        name = plain(event.name)
        if name in wanted and event.time_range.start >= until.get(event.thread, -1):
            found.append(name)
            until[event.thread] = event.time_range.end
    return found


def test_model(rank, count, name):
    initial, runs = None, []
    judge = Recorded(cluster=CLUSTER)
    for use in (None, judge):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model, inputs = torch_models.ALL[name](count)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with torch._inductor.config.patch(post_grad_custom_post_pass=use, fx_graph_cache=False):
            compiled = torch.compile(model)
            results = one_step(model, compiled, optimizer, inputs)
            if use:
                with torch.profiler.profile() as profiler:
                    one_step(model, compiled, optimizer, inputs)
            took = time.perf_counter()
            for _ in range(5):
                one_step(model, compiled, optimizer, inputs)
            runs.append((results, (time.perf_counter() - took) / 5))
    reductions = any("reduce" in step.names[0] for s in judge.schedules for step in s.steps if step.bucket)
    for k, (a, b) in enumerate(zip(runs[0][0], runs[1][0])):
        check(torch.equal(a, b) or (reductions and torch.allclose(a, b, rtol=1e-4, atol=1e-6)),
              f"{name}: result {k} differs by {(a - b).abs().max()}")
    check(bool(judge.schedules) != (name in SILENT), f"{name}: {len(judge.schedules)} schedules")
    for schedule, other, within in zip(judge.schedules, judge.others, judge.within):
        check(schedule.after.step_ns <= schedule.before.step_ns, str(schedule))
        check(within.after.step_ns <= other.step_ns and within.after.peak_bytes <= other.peak_bytes,
              f"{name}: {within.after} is not within PyTorch's {other}")
    wanted = [n for chain in judge.chains for n in chain if n.startswith("_c10d_functional") or n in PRODUCTS]
    ran = events(profiler, set(wanted))[:len(wanted)]  # an optimizer of DTensors then reduces outside of graphs
    at = next((k for k, (a, b) in enumerate(zip(wanted, ran)) if a != b), min(len(wanted), len(ran)))
    check(ran == wanted, f"{name}: the trace has {ran[at:at + 3]} at {at}, the schedule {wanted[at:at + 3]}")
    if rank == 0:
        for schedule, other in zip(judge.schedules, judge.others):
            print(f"{name} on {count}: {schedule}; PyTorch's own pass {other.step_ns / 1e6:.3f} ms, peak "
                  f"{other.peak_bytes / 2**20:.1f} MiB")
        print(f"{name} on {count}: measured {runs[0][1] * 1e3:.1f} ms without the pass, {runs[1][1] * 1e3:.1f} ms with "
              "it", flush=True)


PRODUCTS = {f"aten::{n}" for n in ("mm", "addmm", "bmm", "baddbmm", "_scaled_dot_product_flash_attention_for_cpu",
                                  "_scaled_dot_product_flash_attention_for_cpu_backward")}


def test_compiled_autograd(rank, count):
    """DDP whose reductions are in the graph of the backward pass, where a pass of torch's own has put them together."""
    from torch._dynamo import compiled_autograd

    found, overlap = [], hirc.torch.OverlapPass(cluster=CLUSTER)
    for use in (None, overlap):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = torch_models.mlp(4)
        with torch._dynamo.config.patch(optimize_ddp="python_reducer"), \
                torch._inductor.config.patch(post_grad_custom_post_pass=use, fx_graph_cache=False):
            parallel = torch.nn.parallel.DistributedDataParallel(model)
            with compiled_autograd._enable(torch.compile()):
                out = torch.compile(parallel)(*torch_models.inputs())
                out.square().mean().backward()
        found.append([local(out), *(local(p.grad) for p in model.parameters())])
    check(len(overlap.schedules) == 1, f"{len(overlap.schedules)} schedules")
    check(all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(*found)), "results differ")


def test_models(rank, count, names):
    for name in names:
        test_model(rank, count, name)


def main():
    words = sys.argv[2:]
    counts = [2, 4]
    if words[:1] == ["--ranks"]:
        counts, words = [int(words[1])], words[2:]
    os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = "1"  # do not compile a program that only asks for the instructions
    with tempfile.TemporaryDirectory(prefix="hirc-torch-") as folder:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", folder)
        for count in counts:
            ranks(test_models, count, words or list(torch_models.ALL))
        if not words:
            ranks(test_compiled_autograd, 2)
    print("ok")


if __name__ == "__main__":
    main()
