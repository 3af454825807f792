/* executions: statements that ranks ran together: the k-th execution of a statement on a communicator is one,
 * on all its ranks. A message has no communicator: it is the k-th execution of the statement. */
#ifndef HIRC_EXEC_EXECUTIONS_H
#define HIRC_EXEC_EXECUTIONS_H
#include "base/hash.h"
#include "exec/trace.h"

/* One execution of a communication on one rank. */
struct execution {
	uint64_t statement; /* hash of text and place */
	uint64_t match;     /* and of the communicator */
	int64_t number;     /* of those with this match on this rank */
	int64_t begin;      /* ns; by rank 0's clock */
	int64_t time;       /* ns */
	int64_t hidden;     /* ns of it beside which tasks of the rank ran */
	int64_t bytes;      /* as in struct trace_span */
	uint64_t span;      /* of that rank */
	int32_t rank;
};
struct executions {
	struct execution *at; /* owned */
	uint64_t n;
};

/* A text's, added to a hash; that of no text is HASH_START. */
uint64_t execution_hash(uint64_t h, const char *text);

/* Lists the executions of this rank. offset: added to its clock gives that of rank 0. */
struct executions executions_own(const struct rt_job *job, const struct trace_spans *s, int64_t offset);
/* Collective: rows of all ranks, one rank after the other. *out is the caller's, also on failure. */
enum status executions_gather(struct rt_job *job, const void *rows, uint64_t n, size_t bytes, void **out,
                              uint64_t *total);
/* Collective: those of all ranks; those of one execution stand together, the shortest first. */
enum status executions_all(struct rt_job *job, const struct executions *own, struct executions *out);
/* Returns the end of the spans that are one execution with the k-th. */
uint64_t executions_end(const struct executions *all, uint64_t k);
/* Says of spans of this rank when the last rank had come to them. */
void executions_meet(const struct rt_job *job, const struct executions *all, int64_t offset,
                     struct trace_spans *s);

#endif
