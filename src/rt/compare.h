/* compare: tests if all ranks have the same text, and finds the first difference. */
#ifndef HIRC_RT_COMPARE_H
#define HIRC_RT_COMPARE_H
#include "rt/job.h"

enum { RT_LINE_BYTES = 160 /* longest text of a line that differs; longer ones are cut, with … */ };

struct rt_difference {
	int rank;                  /* the first rank whose text differs from rank 0's; -1: none */
	int64_t line;              /* number of the first line that differs, from 1 on */
	char here[RT_LINE_BYTES];  /* the line there, without leading blanks; "" after the end of its text */
	char first[RT_LINE_BYTES]; /* the line on rank 0 */
};

/* Collective, through the bootstrap, so nothing else of the job has to work yet. The result is the same
 * on all ranks. If texts are equal, only their hashes are exchanged. what: for messages. */
enum status rt_job_compare(struct rt_job *job, const char *what, const char *text, struct rt_difference *out);

/* Appends `X, not Y`, `X as well` or `without Y`, where X is the line on the rank that differs. */
void rt_difference_put(const struct rt_difference *x, struct buf *out);

#endif
