/* reference: measures Open MPI's collectives and memcpy in the way in which `hirc bench` measures its own,
 * for the comparison in tools/bench.
 *
 *     mpirun -np 2 bench_reference LEAST MOST FACTOR      sizes in bytes of the larger buffer, as in hirc
 * bench
 *
 * Prints `collective,size,time_us`. A time is that of a batch of about 4 ms divided by its length: the mean
 * over the ranks, and the median of five batches. memcpy: all ranks copy that many bytes at the same time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 5, WARMUP = 3, MIN_TIMES = 3, MAX_TIMES = 10000 };

static int rank, ranks;
static float *in, *out;

static void check(int error, const char *what)
{
	if (error != MPI_SUCCESS) {
		fprintf(stderr, "%s failed: %d\n", what, error);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* The functions take the number of elements of the larger buffer. */
static void allgather(int n)
{
	check(MPI_Allgather(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, MPI_COMM_WORLD),
	      "allgather");
}

static void allreduce(int n)
{
	check(MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD), "allreduce");
}

static void reduce_scatter(int n)
{
	check(MPI_Reduce_scatter_block(in, out, n / ranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
	      "reduce_scatter");
}

static void broadcast(int n)
{
	check(MPI_Bcast(rank ? out : in, n, MPI_FLOAT, 0, MPI_COMM_WORLD), "broadcast");
}

static void reduce(int n)
{
	check(MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD), "reduce");
}

static void gather(int n)
{
	check(MPI_Gather(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, 0, MPI_COMM_WORLD), "gather");
}

static void scatter(int n)
{
	check(MPI_Scatter(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, 0, MPI_COMM_WORLD), "scatter");
}

static void all_to_all(int n)
{
	check(MPI_Alltoall(in, n / ranks, MPI_FLOAT, out, n / ranks, MPI_FLOAT, MPI_COMM_WORLD),
	      "all_to_all");
}

static void send_recv(int n)
{
	check(MPI_Sendrecv(in, n, MPI_FLOAT, (rank + 1) % ranks, 0, out, n, MPI_FLOAT,
	                   (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
	      "send_recv");
}

static void barrier(int n)
{
	(void)n;
	check(MPI_Barrier(MPI_COMM_WORLD), "barrier");
}

static void copy(int n)
{
	memcpy(out, in, (size_t)n * sizeof *in);
	__asm__ volatile("" ::"r"(out) : "memory");
}

static const struct {
	const char *name;
	void (*run)(int n);
	int blocks; /* the larger buffer has one block for each rank */
} table[] = {
    {"allgather", allgather, 1}, {"allreduce", allreduce, 0},   {"reduce_scatter", reduce_scatter, 1},
    {"broadcast", broadcast, 0}, {"reduce", reduce, 0},         {"gather", gather, 1},
    {"scatter", scatter, 1},     {"all_to_all", all_to_all, 1}, {"send_recv", send_recv, 0},
    {"memcpy", copy, 0},         {"barrier", barrier, 0},
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Returns the microseconds of one of `times` calls, the mean over the ranks. */
static double batch(void (*run)(int), int n, int times)
{
	double mine, sum = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	mine = MPI_Wtime();
	for (int k = 0; k < times; k++)
		run(n);
	mine = (MPI_Wtime() - mine) / times * 1e6;
	check(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), "allreduce");
	return sum / ranks;
}

static double measure(void (*run)(int), int n)
{
	double x[BATCHES];
	for (int k = 0; k < WARMUP; k++)
		run(n);
	double fit = 4e3 / batch(run, n, 1);
	int times = fit < MIN_TIMES ? MIN_TIMES : fit > MAX_TIMES ? MAX_TIMES : (int)fit;
	for (int k = 0; k < BATCHES; k++)
		x[k] = batch(run, n, times);
	qsort(x, BATCHES, sizeof *x, by_size);
	return x[BATCHES / 2];
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	long long least = argc > 1 ? atoll(argv[1]) : 8, most = argc > 2 ? atoll(argv[2]) : 64 << 20,
	          factor = argc > 3 ? atoll(argv[3]) : 8;
	size_t room = (size_t)most + (size_t)ranks * sizeof *in;
	in = malloc(room);
	out = malloc(room);
	if (!in || !out || factor < 2)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(in, 0, room);
	memset(out, 0, room);
	if (rank == 0)
		puts("collective,size,time_us");
	for (unsigned k = 0; k < sizeof table / sizeof *table; k++) {
		int before = -1, only = table[k].run == barrier;
		for (long long size = least; size <= most && !(only && before == 0); size *= factor) {
			int parts = table[k].blocks ? ranks : 1,
			    n = (int)(size / (long long)sizeof *in) / parts;
			n = only ? 0 : (n > 0 ? n : 1) * parts;
			if (n == before)
				continue;
			before = n;
			double us = measure(table[k].run, n);
			if (rank == 0)
				printf("%s,%lld,%.6g\n", table[k].name, (long long)n * (long long)sizeof *in,
				       us);
		}
	}
	free(in);
	free(out);
	MPI_Finalize();
	return 0;
}
