/* check_outputs: each rank's block of an output compared with what it should be. */
#ifndef HIRC_EXEC_CHECK_OUTPUTS_H
#define HIRC_EXEC_CHECK_OUTPUTS_H
#include "base/str.h"
#include "exec/data_map.h"
#include "rt/dtype.h"
#include "rt/job.h"

/* Which elements of a logical tensor are compared, where not all are. */
struct check_sample {
	unsigned rank;
	int64_t extent[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL]; /* of each axis; indices that are compared */
	int32_t *place[IR_MAX_LOGICAL];                    /* of an index among these; -1: not compared */
};

/* What one output should be: the logical tensor, or a sample of it, row-major. */
struct check_want {
	value_id value;                    /* of the program that ran */
	const double *data;                /* every element */
	const int64_t *ints;               /* integers and bool: the exact values; NULL for floats */
	const uint8_t *known;              /* 1 where there is a value to compare with; NULL: everywhere */
	bool exact;                        /* nothing was rounded on the way: compared exactly */
	const double *error;               /* else how much each element may differ; NULL: not at all */
	const struct check_sample *sample; /* NULL: all elements */
};

struct check_output {
	const struct check_want *want;
	type_id type;       /* layout of what memory holds */
	const void *memory; /* NULL: nothing on this rank */
};

/* Collective. Rank 0 prints: `ok: 4 ranks, largest error 0 at Y[0, 0] (tolerance 0.0078)`, the element
 * with the largest error and how much it may differ, to `to` (NULL: nowhere), or what is wrong, the worst
 * rank first, on standard error. STATUS_WRONG on all ranks then. */
enum status check_outputs(struct rt_job *job, const struct module *m, const struct check_output *out,
                          unsigned n, int64_t ranks, struct buf *to);

#endif
