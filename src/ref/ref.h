/* ref: the reference evaluation of a source program, in one process, with naive loops in f64.
 *
 * `hirc run --check` compares with it. It takes the module that the semantic step built, before any
 * pass, and shares only IR and expressions with the rest.
 *
 * A program is evaluated on its logical tensors, loops and writes included: layouts and `set`s change no
 * value, a pending reduction has its result's value. A program that states the work of each rank, with
 * streams, events or messages, it is stepped on all ranks, each with its buffers, each stream a queue.
 *
 * Every op computes in f64 (integers in int64) and rounds once, to the dtype of its result. Beside each
 * element stands a bound on the error of a run that accumulates in f32 or better. */
#ifndef HIRC_REF_REF_H
#define HIRC_REF_REF_H
#include "ir/ir.h"

enum {
	REF_MAX_ELEMENTS = 1 << 27, /* of one logical tensor; larger programs are refused */
};
/* A limit of some seconds. */
#define REF_DEFAULT_LIMIT ((int64_t)2000000000)

/* States of an element. */
enum ref_state {
	REF_ABSENT,  /* not held by the rank that asked; in no output */
	REF_SKIPPED, /* not in the sample that is evaluated, or computed from such an element */
	REF_POISON,  /* never written, or computed from such an element */
	REF_DEFINED, /* has a value */
};

/* A logical tensor, row-major. */
struct ref_array {
	int nd;
	int64_t n[IR_MAX_LOGICAL];
	double *data;  /* every element, whatever the dtype */
	int64_t *ints; /* integers and bool: the exact values; NULL for floats */
	/* Outputs only; an input leaves these zero. */
	enum dtype dtype;
	uint8_t *state; /* enum ref_state of each element; compare DEFINED ones only */
	double *error;  /* how far each element of a run may be from data: see ref_error.c; 0: it is equal */
	double *parts; /* of a pending value: the magnitudes of the parts that are its sum; NULL: not known */
	/* By element: elements with the same number, other than 0, are equal in every run. NULL: none are
	 * known. */
	uint32_t *alike;
};

struct ref_sample;

struct ref_options {
	int64_t ranks;   /* of a host-level program; 0: as many as its meshes need */
	int64_t streams; /* numberOfStreams; 0: unbounded */
	/* One an input of the program, in order: data for floats, ints for integers (data when NULL).
	 * A pending input has its parts as a last dimension, one for each combination of indices along
	 * its mesh axes, row-major. */
	const struct ref_array *inputs;
	unsigned input_n;
	/* The run may apply a function to a product before the product is rounded to its dtype. */
	bool fuses_functions;
	bool tf32;     /* the checked run may have rounded the operands of products of f32 to tf32 */
	int64_t limit; /* multiplications in all contractions; larger programs are refused. 0: any number */
	/* Collectives round each step of a reduction of bf16 or f16 to that, and take members in any order,
	 * as NCCL does; means of bf16 are sums that are then divided. Else they reduce in f32 and round once.
	 */
	bool rounds_steps;
	/* A host-level program skips all elements outside this sample; NULL: it skips none. */
	const struct ref_sample *sample;
	const char *way_out; /* the user's way out, besides smaller parameters; NULL: nothing */
	/* Is told the share of the work that is done, 0 … 1, now and then; NULL: nobody is. */
	void (*progress)(void *to, double done);
	void *progress_to;
};

/* Returns true if some statement has no meaning on logical tensors. Then ranks are stepped, and each computes
 * from the elements that it holds: infer layouts and insert `set`s before. */
bool ref_is_host_level(struct module *m);

/* Results of a program: its outputs in order, then the inout arguments that are no outputs. */
unsigned ref_result_count(const struct module *m);
value_id ref_result_value(const struct module *m, unsigned k);

/* Fills outputs[0 … ref_result_count(m) - 1]; the caller frees each with ref_array_free. On failure
 * nothing is filled and the reason was reported: DIAGNOSTICS for a program that cannot be evaluated,
 * STUCK for a deadlock (with the place of each rank), WRONG when ranks disagree about a
 * replicated output. */
enum status ref_run(struct module *m, struct diag *d, const struct ref_options *o, struct ref_array *outputs);
void ref_array_free(struct ref_array *a); /* all arrays of it */

/* The value nearest to x in a dtype (ties to even; floats beyond the range give inf, f8e4m3 NaN;
 * integers: towards zero, clamped). */
double ref_round(enum dtype t, double x);
/* Significant bits of a float dtype: 53 24 8 11 4 3. */
int ref_precision(enum dtype t);
/* Its largest number, and the smallest with all these bits. */
double ref_largest(enum dtype t);
double ref_smallest(enum dtype t);
/* The smallest positive one. */
double ref_quantum(enum dtype t);
/* Infinity, or the largest number of a float dtype that has none. */
double ref_beyond(enum dtype t);

#endif
