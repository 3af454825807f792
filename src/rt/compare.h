/* compare: tests if all ranks were given the same text, and finds the first difference. */
#ifndef HIRC_RT_COMPARE_H
#define HIRC_RT_COMPARE_H
#include "rt/job.h"

enum { RT_LINE_BYTES = 160 /* of a line that differs; longer ones are cut, with … */ };

struct rt_difference {
	int rank;                 /* the first that has another text than rank 0; -1: all have the same */
	int64_t line;             /* the first line that differs, from 1 on */
	char here[RT_LINE_BYTES]; /* it on that rank, without blanks before it; "" where its text has ended */
	char first[RT_LINE_BYTES]; /* and on rank 0 */
};

/* Collective, through the bootstrap: nothing of the job has to work yet. The same on all ranks. Where texts
 * are equal, hashes of them are exchanged. what: for messages. */
enum status rt_job_compare(struct rt_job *job, const char *what, const char *text, struct rt_difference *out);

/* `X, not Y`, `X as well` or `without Y`, where X is of the rank that differs. */
void rt_difference_put(const struct rt_difference *x, struct buf *out);

#endif
