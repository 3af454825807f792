"""gloo.py NP M N K: torch.mm and torch.distributed (gloo), what a user of PyTorch would write.

Prints `program,compute_ms,ms` for ag_matmul, matmul_rs and row_parallel_linear: the medians of interleaved
samples of the matrix product alone and of the program; a sample is latest finish - earliest start over ranks.
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


def worker(rank, np, port, m, n, k):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=np)
    whole, b, w = torch.ones(m, k), torch.ones(k, n), torch.ones(n, k)
    own, c = torch.ones(m // np, k), torch.empty(m, n)

    def gather():  # older versions have no all_gather_into_tensor for gloo
        try:
            dist.all_gather_into_tensor(whole, own)
        except RuntimeError:
            dist.all_gather(list(whole.chunk(np)), own)

    def ag_matmul():
        gather()
        torch.mm(whole, b, out=c)

    def matmul_rs():  # gloo has no reduce_scatter: allreduce, and the own rows of it
        torch.mm(whole, b, out=c)
        dist.all_reduce(c)

    def row_parallel_linear():
        torch.mm(whole, w.t(), out=c)
        dist.all_reduce(c)

    def compute():
        torch.mm(whole, b, out=c)

    def sample(run):
        dist.barrier()
        start = time.monotonic()
        run()
        ends = torch.tensor([-start, time.monotonic()], dtype=torch.float64)
        dist.all_reduce(ends, op=dist.ReduceOp.MAX)
        return float(ends.sum()) * 1e3

    for run in (ag_matmul, matmul_rs, row_parallel_linear):
        first = max(sample(compute) + sample(run) for _ in range(3))
        samples = max(5, min(200, int(BUDGET_S * 1e3 / first)))
        times = [(sample(compute), sample(run)) for _ in range(samples)]
        alone, both = (statistics.median(column) for column in zip(*times))
        if rank == 0:
            print(f"{run.__name__},{alone:.6g},{both:.6g}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    np, m, n, k = map(int, sys.argv[1:5])
    os.environ["OMP_NUM_THREADS"] = "1"
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(np, port, m, n, k), nprocs=np)


if __name__ == "__main__":
    main()
