"""gloo.py NP M N K: torch.mm and torch.distributed (gloo), as a user of PyTorch would write it.
gloo.py NP layer B S A E: the transformer layer of the examples, with tp = NP.

Prints `program,compute_ms,ms` for ag_matmul, matmul_rs and row_parallel_linear: the medians of interleaved
samples of the matrix product alone and of the program; a sample is latest finish - earliest start over ranks.
For the layer, `compute_ms` is the time of the layer without its communications.
"""
import os
import socket
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

BUDGET_S = 1.0


def gather_into(whole, own, np):  # older versions have no all_gather_into_tensor for gloo
    try:
        dist.all_gather_into_tensor(whole, own)
    except RuntimeError:
        dist.all_gather(list(whole.chunk(np)), own)


def products(rank, np, m, n, k):
    whole, b, w = torch.ones(m, k), torch.ones(k, n), torch.ones(n, k)
    own, c = torch.ones(m // np, k), torch.empty(m, n)

    def ag_matmul():
        gather_into(whole, own, np)
        torch.mm(whole, b, out=c)

    def matmul_rs():  # gloo has no reduce_scatter: allreduce, then take the own rows
        torch.mm(whole, b, out=c)
        dist.all_reduce(c)

    def row_parallel_linear():
        torch.mm(whole, w.t(), out=c)
        dist.all_reduce(c)

    def compute():
        torch.mm(whole, b, out=c)

    return [(compute, run) for run in (ag_matmul, matmul_rs, row_parallel_linear)]


def layers(rank, np, b, s, a, e):
    """Sequence parallelism between the blocks, tensor parallelism in them."""
    f = torch.nn.functional
    d = a * e
    x = torch.randn(s // np, b, d)
    wq, wk, wv = (torch.randn(d // np, d) / 8 for _ in range(3))
    wo, w1, w2 = torch.randn(d, d // np) / 8, torch.randn(4 * d // np, d) / 8, torch.randn(d, 4 * d // np) / 8
    whole = torch.randn(s, b, d)

    def gather(own, moves):
        if moves:
            gather_into(whole, own.contiguous(), np)
        return whole

    def scatter(partial, moves):  # gloo has no reduce_scatter
        if moves:
            dist.all_reduce(partial)
        return partial[rank * (s // np):(rank + 1) * (s // np)]

    def heads(t):
        return t.view(s, b, a // np, e).permute(1, 2, 0, 3)

    def layer(moves):
        with torch.no_grad():
            n = gather(f.layer_norm(x, (d,)), moves)
            o = f.scaled_dot_product_attention(heads(f.linear(n, wq)), heads(f.linear(n, wk)),
                                               heads(f.linear(n, wv)), is_causal=True)
            y = x + scatter(f.linear(o.permute(2, 0, 1, 3).reshape(s, b, d // np), wo), moves)
            return y + scatter(f.linear(f.gelu(f.linear(gather(f.layer_norm(y, (d,)), moves), w1)), w2), moves)

    def transformer_layer():
        layer(True)

    return [(lambda: layer(False), transformer_layer)]


def worker(rank, np, port, what, sizes, finished):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=np)

    def sample(run):
        dist.barrier()
        start = time.monotonic()
        run()
        ends = torch.tensor([-start, time.monotonic()], dtype=torch.float64)
        dist.all_reduce(ends, op=dist.ReduceOp.MAX)
        return float(ends.sum()) * 1e3

    for compute, run in what(rank, np, *sizes):
        start = time.monotonic()
        for _ in range(3):
            sample(compute), sample(run)
        took = torch.tensor([(time.monotonic() - start) / 3])
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        samples = max(5, min(200, int(BUDGET_S / float(took))))
        times = [(sample(compute), sample(run)) for _ in range(samples)]
        alone, both = (statistics.median(column) for column in zip(*times))
        if rank == 0:
            print(f"{run.__name__},{alone:.6g},{both:.6g}", flush=True)
    sys.stdout.flush()
    finished.wait()  # a rank that leaves early, or its end, can leave the others waiting in gloo
    os._exit(0)


def main():
    np, rest = int(sys.argv[1]), sys.argv[2:]
    what = layers if rest[0] == "layer" else products
    sizes = [int(x) for x in rest if x != "layer"]
    os.environ["OMP_NUM_THREADS"] = "1"
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(np, port, what, sizes, mp.get_context("spawn").Barrier(np)), nprocs=np)


if __name__ == "__main__":
    main()
