/* check_outputs: compares each rank's block of an output with the expected values. */
#ifndef HIRC_EXEC_CHECK_OUTPUTS_H
#define HIRC_EXEC_CHECK_OUTPUTS_H
#include "base/str.h"
#include "plan/data_map.h"
#include "rt/convert.h"
#include "rt/job.h"

/* The elements of a logical tensor that are compared, where not all are. */
struct check_sample {
	unsigned rank;
	int64_t extent[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL]; /* of each axis; indices that are compared */
	int32_t *place[IR_MAX_LOGICAL];                    /* of an index among these; -1: not compared */
};

/* The share of an output that a comparison with the reference decides, counted in logical elements. */
struct check_reach {
	int64_t total;     /* elements of the output */
	int64_t known;     /* those with a value in the reference */
	int64_t compared;  /* those with a finite tolerance, undecided ones left out */
	int64_t undecided; /* those that are not 0 and would pass as 0 */
	bool sampled;      /* the reference has some of the elements */
	bool takes_zeros;  /* it is not all zeros, but an output of zeros would pass */
};

/* The wanted values of one output: the logical tensor, or a sample of it, row-major. */
struct check_want {
	value_id value;                    /* of the program that ran */
	int64_t count;                     /* elements of the arrays that follow */
	const double *data;                /* every element */
	const int64_t *ints;               /* integers and bool: the exact values; NULL for floats */
	const uint8_t *known;              /* 1 where there is a value to compare with; NULL: everywhere */
	const double *error;               /* how much each element may differ; NULL: not at all */
	const struct check_sample *sample; /* NULL: all elements */
	bool sampled;                      /* of all elements some are not known because they were left out */
};

struct check_output {
	const struct check_want *want;
	type_id type;            /* layout of the memory */
	const void *memory;      /* NULL: nothing on this rank */
	const uint64_t *written; /* by element of memory, a bit each, as exec_written; NULL: all are */
};

void check_reach(const struct check_want *w, struct check_reach *out);

/* Collective. Rank 0 prints to `to` (NULL: nowhere)
 *     ok: 4 ranks, largest error 0 at Y[0, 0] (tolerance 0.0078); 64 of 64 elements compared, 0 undecided
 * the element with the largest error and its tolerance; or on standard error the differences, the
 * first ranks first. STATUS_WRONG on all ranks where an element is wrong or was never written, and where the
 * comparison says nothing: no element of an output was compared, or an output of zeros would pass. */
enum status check_outputs(struct rt_job *job, const struct module *m, const struct check_output *out,
                          unsigned n, int64_t ranks, struct buf *to);

#endif
