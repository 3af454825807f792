/* check_outputs: compares each rank's block of an output with the expected values. */
#ifndef HIRC_EXEC_CHECK_OUTPUTS_H
#define HIRC_EXEC_CHECK_OUTPUTS_H
#include "exec/data.h"
#include "plan/data_map.h"
#include "rt/convert.h"
#include "rt/job.h"

/* The elements of a logical tensor that are compared, if not all are. */
struct check_sample {
	unsigned rank;
	int64_t extent[IR_MAX_LOGICAL],
	    n[IR_MAX_LOGICAL];          /* by axis: its extent; number of indices that are compared */
	int32_t *place[IR_MAX_LOGICAL]; /* by axis and index: its place in the sample; -1: not compared */
};

/* The part of an output that a comparison with the reference can decide, in logical elements. */
struct check_reach {
	int64_t total;     /* elements of the output */
	int64_t known;     /* elements with a value in the reference */
	int64_t compared;  /* elements with a finite tolerance, without the undecided ones */
	int64_t undecided; /* elements that are not 0 but would pass as 0 */
	bool sampled;      /* the reference has some of the elements */
	bool takes_zeros;  /* the output is not all zeros, but zeros would pass */
};

/* The expected values of one output: the logical tensor or a sample of it, row-major. */
struct check_want {
	value_id value;       /* the output, in the program that ran */
	int64_t count;        /* length of the arrays below */
	const double *data;   /* all elements */
	const int64_t *ints;  /* integers and bool: the exact values; NULL for floats */
	const uint8_t *known; /* by element: 1 if there is a value to compare with; NULL: for all */
	const double *error;  /* by element: largest allowed error; NULL: 0 */
	const struct check_sample *sample; /* NULL: all elements */
	bool sampled;                      /* some elements are unknown because the sample left them out */
};

struct check_output {
	const struct check_want *want;
	type_id type;       /* layout of the memory */
	const void *memory; /* NULL: this rank holds nothing */
	const uint64_t
	    *written; /* by element of memory, one bit each, see exec_written; NULL: all are written */
};

void check_reach(const struct check_want *w, struct check_reach *out);

/* The result of a comparison in which no element was wrong: the largest error, and how much was compared. */
struct check_verdict {
	unsigned outputs;
	double error, tolerance;
	bool exact;                     /* that output has no tolerance */
	char at[DATA_NAME_BYTES + 128]; /* the element with the largest error, "Y[0, 0]"; "": there is none */
	int rank;                       /* that has it; -1: all */
	int64_t compared, elements, undecided; /* logical elements, of all outputs */
	bool sampled;                          /* the reference has some of the elements */
};

/* Collective: compares n outputs on all ranks. If all are right, sets *verdict on rank 0.
 *
 * Otherwise the differences are printed on standard error, those of lower ranks first, and all ranks
 * return STATUS_WRONG. That is so if an element is wrong or was never written, and if the comparison
 * proves nothing: no element of an output was compared, or an output of zeros would pass. */
enum status check_outputs(struct rt_job *job, const struct module *m, const struct check_output *out,
                          unsigned n, struct check_verdict *verdict);

#endif
