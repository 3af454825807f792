#!/usr/bin/env python3
"""hirc.torch.schedule on graphs: results before and after are the same bits, and mistakes have their messages.

    torch_schedule.py HIRC
"""
import copy
import json
import os
import tempfile
import warnings

from torch_ranks import check, dist, ranks, refused, torch

import hirc.torch
from hirc.torch import agree, plan
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

OPS = torch.ops._c10d_functional
WORLD = "0"


def wait(x):
    return OPS.wait_tensor(x)


def shards(count):
    """Returns inputs: shards of weights of several shapes, an activation, a gradient, and integers."""
    torch.manual_seed(dist.get_rank())
    shapes = (64, 32), (16,), (8, 4, 8), (64, 64)
    return ([torch.randn(s) for s in shapes], torch.randn(256, 128), torch.randn(16, 16, dtype=torch.complex64),
            torch.randint(0, 100, (16, 3)))


def step(count, weights, x, pairs, numbers):
    """Gathers, reductions, an exchange, random numbers and a write, each beside work that may hide it."""
    results = []
    for w in weights:
        whole = wait(OPS.all_gather_into_tensor(w, count, WORLD))
        x = torch.relu(x @ x.t() / 128 @ x)
        results.append(whole * 2)
    for w in weights:
        whole = w.repeat(count, *[1] * (w.dim() - 1)) * 3
        results.append(wait(OPS.reduce_scatter_tensor(whole, "sum", count, WORLD)))
        results.append(wait(OPS.all_reduce(w + 1, "sum", WORLD)))
        x = torch.tanh(x @ x.t() / 128 @ x)
    results.append(torch.rand(3))
    results.append(wait(OPS.all_gather_into_tensor(pairs, count, WORLD)))
    results.append(wait(OPS.all_gather_into_tensor(pairs.real.contiguous(), count, WORLD)))
    results.append(wait(OPS.all_reduce(pairs.t(), "sum", WORLD)))
    results.append(wait(OPS.all_reduce(x.sum(), "sum", WORLD)))
    results.append(torch.rand(2))
    results.append(wait(OPS.all_gather_into_tensor(numbers, count, WORLD)))
    results.append(wait(OPS.all_to_all_single(numbers, [16 // count] * count, [16 // count] * count, WORLD)))
    weights[1].add_(results[0].sum())
    results.append(weights[1] * 2)
    return results, x


def graph_of(count, inputs):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = torch.utils._pytree.tree_map(lambda t: mode.from_tensor(t) if isinstance(t, torch.Tensor) else t, inputs)
        return make_fx(lambda *a: step(count, *a))(*fake)


def run(graph, inputs):
    torch.manual_seed(7)
    results, x = graph(*copy.deepcopy(inputs))
    return [*results, x]


def same_results(rank, count):
    inputs = shards(count)
    graph = graph_of(count, inputs)
    wanted = run(graph, inputs)
    for buckets in ("pack", "coalesced", "none"):
        for effort in (0, 1, 2):
            changed = copy.deepcopy(graph)
            found = hirc.torch.schedule(changed, cluster="h100", buckets=buckets, effort=effort, memory_limit="1G")
            got = run(changed, inputs)
            for k, (a, b) in enumerate(zip(wanted, got)):
                check(a.shape == b.shape and a.dtype == b.dtype, f"{buckets} {effort}: result {k}: {b.shape} {b.dtype}")
                check(torch.equal(a, b) or torch.allclose(a, b, rtol=1e-5), f"{buckets} {effort}: result {k} differs")
            check(found.after.step_ns <= found.before.step_ns, str(found))
            check(bool(found.buckets) == (buckets != "none" and effort > 0), f"{buckets} {effort}: {found.buckets}")
            names = [n.target.name().split("::")[1].split(".")[0] for n in changed.graph.nodes
                     if getattr(n.target, "namespace", None) == "_c10d_functional"]
            check(any("coalesced" in n for n in names) == (buckets == "coalesced" and effort > 0), str(names))
            again = hirc.from_fx(changed)  # the graph after the change, as hirc reads it
            if buckets == "none":
                check(plan.predict(again.text, "h100") == found.after, "the graph is not the schedule")


def order_is_the_schedule(rank, count):
    inputs = shards(count)
    graph = graph_of(count, inputs)
    nodes = [n.name for n in graph.graph.nodes if n.op not in ("placeholder", "output")]
    found = hirc.torch.schedule(graph, cluster="h100", buckets="none", effort=2)
    after = [n.name for n in graph.graph.nodes if n.op not in ("placeholder", "output")]
    check(nodes != after and sorted(nodes) == sorted(after), str(after))
    check(after == [s.names[0] for s in found.steps if s.names[0] in set(after)], str(after))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "after.svg")
        found.draw(None, path)
        check("<svg" in open(path, encoding="utf-8").read(), "no picture")
    random = [n for n in after if n.startswith("rand")]
    check(random == [n for n in nodes if n.startswith("rand")], str(random))


def torch_estimates(rank, count):
    inputs = shards(count)
    graph = graph_of(count, inputs)
    found = hirc.torch.schedule(graph, cluster="h100", times="torch")
    check("allgather=(" in found.program.splitlines()[0] and "allreduce=(" in found.program.splitlines()[0],
          found.program)
    check(found.buckets, "no buckets")


def trace_times(rank, count):
    """Times of one profiled step, which rank 0 gives to all ranks."""
    inputs = shards(count)
    graph = graph_of(count, inputs)
    path = [None]
    with torch.profiler.profile(record_shapes=True) as profiler:
        run(graph, inputs)
    with tempfile.TemporaryDirectory() as folder:
        if rank == 0:
            path[0] = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(path[0])
        dist.broadcast_object_list(path)
        found = hirc.torch.schedule(graph, cluster="h100", times=path[0])
        product = next(line for line in found.program.splitlines() if '"aten.mm.default"' in line)
        check("time=" in product and "flops=" not in product, product)
        check("allreduce=(" in found.program.splitlines()[0], found.program)
        dist.barrier()


GPU = [{"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": 1, "tid": 1, "ts": 0, "dur": 50,
        "args": {"External id": 1, "Input Dims": [[4, 8], [2, 8], []]}},
       {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 20,
        "args": {"External id": 2, "Input Dims": [[4, 8], [8, 2]]}},
       {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 400, "dur": 300,
        "args": {"External id": 2}},
       {"ph": "X", "cat": "kernel", "name": "nccl", "pid": 0, "tid": 8, "ts": 400, "dur": 90,
        "args": {"External id": 9, "Collective name": "_allgather_base", "In msg nelems": 512, "Group size": 8,
                 "dtype": "BFloat16"}}]


def gpu_trace(rank, count):
    from hirc.torch.costs import Trace

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "gpu.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": GPU}, file)
        trace = Trace(path)
        check(trace.by_shape["aten::mm", ((4, 8), (8, 2))] == [300], str(trace.by_shape))
        check(trace.by_shape["aten::linear", ((4, 8), (2, 8))] == [300], str(trace.by_shape))
        check(trace.messages == {("allgather", 8, 1024): [90]}, str(trace.messages))
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": []}, file)
        refused(lambda: Trace(path), ValueError, "no operations: profile a step with")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"events": []}, file)
        refused(lambda: Trace(path), ValueError, "no traceEvents: this is no trace of torch.profiler")


def mistakes(rank, count):
    inputs = shards(count)
    graph = graph_of(count, inputs)
    before = str(graph.graph)
    refused(lambda: hirc.torch.schedule(graph, cluster="h100", memory_limit=1000), hirc.Error, "1000 bytes",
            "the least that was found is", ": memory_limit=")
    for limit in ("1 GB", 0, -1, 1.5, "0"):
        refused(lambda limit=limit: hirc.torch.OverlapPass(cluster="h100", memory_limit=limit), ValueError,
                f"memory_limit is a number of bytes, or text such as '80G', not {limit!r}")
    refused(lambda: hirc.torch.OverlapPass(cluster="h100", efort=1), TypeError, "efort")
    refused(lambda: hirc.torch.OverlapPass(cluster="h100", buckets="all"), ValueError, "buckets is one of")
    refused(lambda: hirc.torch.schedule(graph, cluster="nowhere"), hirc.Error, "nowhere")
    refused(lambda: hirc.torch.schedule(graph, cluster="h100", buckets="all"), ValueError,
            "buckets is one of pack, coalesced, none, not 'all'")
    refused(lambda: hirc.torch.schedule(graph, cluster="h100", effort=4), ValueError,
            "effort is a number from 0 to 3, not 4")
    check(str(graph.graph) == before, "a refused graph was changed")
    none = make_fx(lambda x: x + 1)(torch.ones(2))
    check(hirc.torch.schedule(none, cluster="h100") is None, "a schedule of nothing")


def disagreements(rank, count):
    """Each rank gets an error that names the difference, and no graph changes."""
    inputs = shards(count)
    graph = graph_of(count, inputs)
    last = count - 1
    if rank == last:
        node = next(n for n in graph.graph.nodes if n.name == "tanh_1")
        node.target = torch.ops.aten.sin.default
    before = str(graph.graph)
    refused(lambda: hirc.torch.schedule(graph, cluster="h100"), hirc.torch.Disagreement,
            f"ranks 0 and {last} have different graphs, from node tanh_1 on", 'extern "aten.tanh.default"',
            'extern "aten.sin.default"')
    graph = graph_of(count, inputs)
    refused(lambda: hirc.torch.schedule(graph, cluster="h100", times={"mm": 1000 + (rank == last)}),
            hirc.torch.Disagreement, f"ranks 0 and {last} have other times of node mm: give all ranks the same times")
    refused(lambda: hirc.torch.schedule(graph, cluster="h100" if rank != last else "h200"),
            hirc.torch.Disagreement, f"ranks 0 and {last} have different cluster files, from line 1 on")
    refused(lambda: hirc.torch.schedule(graph, cluster="h100", effort=1 if rank != last else 2),
            hirc.torch.Disagreement, f"ranks 0 and {last} have different options of the schedule")
    if rank != last:
        refused(lambda: hirc.torch.schedule(graph, cluster="h100"), hirc.torch.Disagreement,
                f"rank {last} has no schedule: Error: ")
        refused(lambda: hirc.torch.schedule(graph, cluster="h100", timeout=2), hirc.torch.Disagreement,
                f"rank {last} did not schedule this graph within 2 s")
    else:
        refused(lambda: hirc.torch.schedule(graph, cluster="h100", memory_limit=1000), hirc.Error, "1000 bytes")
        agree.seen[tuple(range(count))] += 1
    check(str(graph.graph) == before if rank != last else True, "a refused graph was changed")
    dist.barrier()
    check(hirc.torch.schedule(graph, cluster="h100") is not None, "no schedule afterwards")


def followers(rank, count):
    """Ranks whose graphs differ in local work take the order of the lowest rank."""
    inputs = shards(count)
    graph = graph_of(count, inputs)
    if rank == count - 1:  # other work, and other names
        first = next(n for n in graph.graph.nodes if n.name == "mm")
        with graph.graph.inserting_before(first):
            more = graph.graph.call_function(torch.ops.aten.mul.Tensor, (first.args[0], 2.0))
            more.meta["val"] = first.args[0].meta["val"] * 2  # another storage
        first.args = (more, first.args[1])
        for node in [n for n in graph.graph.nodes if n.name.startswith("tanh")]:
            node.name = f"other_{node.name}"  # as if torch had counted otherwise
        graph.recompile()
    wanted = run(graph, inputs)
    refused(lambda: hirc.torch.schedule(copy.deepcopy(graph), cluster="h100"), hirc.torch.Disagreement,
            "with follow=True other local work is allowed")
    for buckets in ("pack", "coalesced"):
        changed = copy.deepcopy(graph)
        found = hirc.torch.schedule(changed, cluster="h100", buckets=buckets, follow=True)
        check(found.buckets, "no buckets")
        for k, (a, b) in enumerate(zip(wanted, run(changed, inputs))):
            check(torch.allclose(a, b, rtol=1e-5), f"{buckets}: result {k} differs")
    if rank == count - 1:
        node = next(n for n in graph.graph.nodes if n.name == "all_reduce")
        node.args = (node.args[0], "max", node.args[2])
        graph.recompile()
    refused(lambda: hirc.torch.schedule(graph, cluster="h100", follow=True), hirc.torch.Disagreement,
            f"ranks 0 and {count - 1} have different collectives, from number 6 on")


def vocabulary(rank, count):
    """A GPT whose words are spread over ranks: the first rank subtracts no offset, so graphs differ in local work."""
    import torch_models
    from torch._dynamo.backends.common import aot_autograd
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module

    local = lambda x: (x.to_local() if hasattr(x, "to_local") else x).detach()
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (count,), mesh_dim_names=("tp",))
    runs, found = [], []
    for use in (False, True):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model, inputs = torch_models.gpt(count)
        words = RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate())
        parallelize_module(model, mesh, {"tokens": words})

        def keep(graph, _, use=use):
            if use:
                found.append(hirc.torch.schedule(graph, cluster="h100", follow=True))
            return graph

        out = torch.compile(model, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep))(*inputs)
        out.square().mean().backward()
        runs.append([local(out), *(local(p.grad) for p in model.parameters())])
    check(len(found) == 2 and all(found), str(found))
    check(all(torch.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(*runs)), "results differ")


def symbolic(rank, count):
    """A graph with symbolic sizes has the schedule of its first sizes, and right results for others."""
    from torch._dynamo.backends.common import aot_autograd

    def some(x, w):
        parts = x @ w, torch.tanh(x), x.sum(1), x.square()
        reduced = [wait(OPS.all_reduce(t * 2, "sum", WORLD)) for t in parts]
        gathered = [wait(OPS.all_gather_into_tensor(t + 1, count, WORLD)) for t in parts]
        scattered = [wait(OPS.reduce_scatter_tensor(torch.cat([t] * count), "sum", count, WORLD)) for t in parts]
        return [*reduced, *gathered, *scattered, torch.relu(x @ x.t() @ x)]

    quick = lambda node: None if "c10d" in str(node.target) else 0  # nothing hides collectives, so buckets pay
    weight = torch.randn(32, 24, generator=torch.Generator().manual_seed(rank))
    for buckets in ("pack", "coalesced"):
        torch._dynamo.reset()
        found = []

        def keep(graph, _, buckets=buckets):
            found.append(hirc.torch.schedule(graph, cluster="h100", buckets=buckets, times=quick,
                                             memory_limit="1G"))
            return graph

        compiled = torch.compile(some, backend=aot_autograd(fw_compiler=keep), dynamic=True)
        for rows in (48, 7, 130):
            x = torch.randn(rows, 32, generator=torch.Generator().manual_seed(rows + rank))
            for k, (a, b) in enumerate(zip(some(x, weight), compiled(x, weight))):
                check(a.shape == b.shape and torch.allclose(a, b, rtol=1e-5), f"{buckets}, {rows} rows: result {k} differs")
        check(len(found) == 1, f"{len(found)} graphs: the sizes are not symbolic")
        check(len(found[0].buckets) == 3, f"{buckets}: {found[0].buckets}")


def uneven(rank, count):
    """Each rank has its own number of rows, as at the end of an epoch: an error says so, follow=True allows it."""
    from torch._dynamo.backends.common import aot_autograd

    def some(x, w):
        return [wait(OPS.all_reduce(x.t() @ x @ w * k, "sum", WORLD)) for k in (1, 2)]

    x = torch.randn(10 + 5 * rank, 32, generator=torch.Generator().manual_seed(rank))
    weight = torch.ones(32, 24)
    for follow in (False, True):
        torch._dynamo.reset()

        def keep(graph, _, follow=follow):
            hirc.torch.schedule(graph, cluster="h100", follow=follow)
            return graph

        compiled = torch.compile(some, backend=aot_autograd(fw_compiler=keep), dynamic=True)
        if follow:
            check(all(torch.allclose(a, b, rtol=1e-5) for a, b in zip(some(x, weight), compiled(x, weight))), "differs")
        else:
            refused(lambda: compiled(x, weight), Exception, f"ranks 0 and {count - 1} have different graphs",
                    "must compile the same graph with the same shapes; with follow=True other local work is allowed")


def exchanges(rank, count):
    """Experts get as many rows as their router says, or each rank other numbers that do not depend on data."""
    from torch._dynamo.backends.common import aot_autograd

    def exchange(rows, there, x):
        return wait(OPS.all_to_all_single(x, there, rows, WORLD))

    def routed(x, w, chosen):
        rows = (chosen == torch.arange(count)[:, None]).sum(1)
        there = exchange([1] * count, [1] * count, rows).tolist()
        rows = rows.tolist()
        back = exchange(there, rows, torch.tanh(exchange(rows, there, x[torch.argsort(chosen)]) @ w))
        return back, x @ w

    def fixed(x, w, chosen):
        rows = [[8 + 4 * i + 2 * j for j in range(count)] for i in range(count)]
        there = [rows[i][rank] for i in range(count)]
        back = exchange(there, rows[rank], torch.tanh(exchange(rows[rank], there, x[:sum(rows[rank])]) @ w))
        return back, x @ w

    generator = torch.Generator().manual_seed(rank)
    x, chosen = torch.randn(96, 32, generator=generator), torch.randint(0, count, (96,), generator=generator)
    inputs = x, torch.ones(32, 32), chosen
    for function, follow in (routed, False), (fixed, True):
        torch._dynamo.reset()
        found = []

        def keep(graph, _, follow=follow):
            found.append(hirc.torch.schedule(graph, cluster="h100", follow=follow))
            return graph

        with torch._dynamo.config.patch(capture_scalar_outputs=True):
            got = torch.compile(function, fullgraph=True, backend=aot_autograd(fw_compiler=keep))(*inputs)
        check(all(torch.equal(a, b) for a, b in zip(function(*inputs), got)), f"{function.__name__}: results differ")
        check(found[0].after.step_ns < found[0].before.step_ns, str(found[0]))


class Gathering(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(128, 128)

    def forward(self, x):
        whole = wait(OPS.all_gather_into_tensor(x, dist.get_world_size(), WORLD))
        return whole * 2, torch.relu(self.inner(x)), wait(OPS.all_reduce(x @ x.t(), "sum", WORLD))


def exported(rank, count):
    """Graphs of torch.export, whose modules check their inputs, with sizes that are numbers or symbols."""
    torch.manual_seed(0)
    model, rows = Gathering(), torch.export.Dim("rows", min=4)
    x = torch.randn(256, 128, generator=torch.Generator().manual_seed(rank))
    wanted = model(x)
    for shapes in (None, ({0: rows},)):
        program = torch.export.export(model, (x,), dynamic_shapes=shapes)
        for module in program.module(), program.run_decompositions().module():
            found = hirc.torch.schedule(module, cluster="h100", effort=1)
            check(found.after.step_ns < found.before.step_ns, str(found))
            check(all(torch.allclose(a, b) for a, b in zip(wanted, module(x))), "results differ")
        refused(lambda: hirc.torch.schedule(program, cluster="h100"), TypeError,
                "schedule takes a torch.fx.GraphModule, not ExportedProgram: ")
        before = program.module()(x)
        hirc.torch.schedule(program.graph_module, cluster="h100")
        check(all(torch.equal(a, b) for a, b in zip(before, program.module()(x))), "results differ")


def inductor_pass(rank, count):
    """Other passes that would move collectives are refused, and the cache knows what a schedule depends on."""
    graph = graph_of(count, shards(count))
    overlap = hirc.torch.OverlapPass(cluster="h100")
    with torch._inductor.config.patch(reorder_for_compute_comm_overlap=True):
        refused(lambda: overlap(graph.graph), ValueError, "torch._inductor.config.reorder_for_compute_comm_overlap is "
                "True, so Inductor would undo the schedule of hirc: set it to False")
    with torch._inductor.config.patch(bucket_all_gathers_fx="all"):
        refused(lambda: overlap(graph.graph), ValueError, "bucket_all_gathers_fx is 'all', so", "set it to 'none'")
    check(overlap.uuid() is None, "ranks that compare must not take graphs from the cache")
    with tempfile.TemporaryDirectory() as folder:
        path, found = os.path.join(folder, "cluster.json"), set()
        for text, effort in (("{}", 1), ("{}", 2), ("{ }", 2)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            made = [hirc.torch.OverlapPass(cluster=path, effort=effort, compare=False).uuid() for _ in range(2)]
            check(made[0] == made[1], "the hash of one pass varies")
            found.add(made[0])
        check(len(found) == 3, "a hash lacks the cluster file or the options")
    local = make_fx(lambda x: x @ x)(torch.ones(2, 2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        overlap(local.graph)
        overlap(local.graph)
    check(sum("this graph has no functional collectives" in str(w.message) for w in said) == 1, "one warning is wanted")


def everything(rank, count):
    for test in (same_results, order_is_the_schedule, torch_estimates, trace_times, gpu_trace, mistakes, disagreements,
                 followers, vocabulary, symbolic, uneven, exchanges, exported, inductor_pass):
        test(rank, count)
        if rank == 0:
            print(f"{test.__name__}: ok", flush=True)


if __name__ == "__main__":
    ranks(everything, 2)
    print("ok")
