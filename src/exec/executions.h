/* executions: finds the communications that ranks ran together. The k-th execution of a statement on a
 * communicator is one execution on all its ranks. A message has no communicator: it is the k-th
 * execution of its statement. */
#ifndef HIRC_EXEC_EXECUTIONS_H
#define HIRC_EXEC_EXECUTIONS_H
#include "base/hash.h"
#include "exec/trace.h"

/* One execution of a communication on one rank. */
struct execution {
	uint64_t statement; /* hash of its text and place */
	uint64_t match;     /* hash of these and the communicator */
	int64_t number;     /* its number among those with this match on this rank */
	int64_t begin;      /* ns, by rank 0's clock */
	int64_t time;       /* ns */
	int64_t hidden;     /* ns during which tasks of the rank ran */
	int64_t bytes;      /* see struct trace_span */
	uint64_t span;      /* index of the span on that rank */
	int32_t rank;
};
struct executions {
	struct execution *at; /* owned */
	uint64_t n;
};

/* Returns a hash with a text added; without any text it is HASH_START. */
uint64_t execution_hash(uint64_t h, const char *text);

/* Lists the executions of this rank. offset: the addend that turns its clock into that of rank 0. */
struct executions executions_own(const struct rt_job *job, const struct trace_spans *s, int64_t offset);
/* Collective: gathers the rows of all ranks, one rank after the other. The caller frees *out, also on
 * failure. */
enum status executions_gather(struct rt_job *job, const void *rows, uint64_t n, size_t bytes, void **out,
                              uint64_t *total);
/* Collective: gathers the executions of all ranks. Those of one execution are neighbours, the shortest
 * first. */
enum status executions_all(struct rt_job *job, const struct executions *own, struct executions *out);
/* Returns the end of the list of spans that belong to the same execution as the k-th. */
uint64_t executions_end(const struct executions *all, uint64_t k);
/* Sets, for the spans of this rank, the time when the last rank reached the communication. */
void executions_meet(const struct rt_job *job, const struct executions *all, int64_t offset,
                     struct trace_spans *s);

#endif
