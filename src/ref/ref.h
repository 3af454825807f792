/* ref: the reference evaluation of a source program, in one process, with naive loops in f64.
 *
 * `hirc run --check` compares its outputs with a run. It takes the module that the semantic step built,
 * before any pass, and shares only IR, expressions and the walk with the rest of the compiler.
 *
 * Most programs are evaluated on their logical tensors, with loops and writes: layouts and `set`s change no
 * value, and a pending reduction has the value of its result. A program that states the work of each rank,
 * with streams, events or messages, is stepped on all ranks; each rank has its own buffers, and each stream
 * is a queue.
 *
 * Every op computes in f64 (integers in int64) and rounds once, to the dtype of its result. Each element has
 * a bound on the error of a run that accumulates in f32 or better. */
#ifndef HIRC_REF_REF_H
#define HIRC_REF_REF_H
#include "ir/ir.h"

enum {
	REF_MAX_ELEMENTS = 1 << 27, /* of one logical tensor; larger programs are refused */
};
/* Default of ref_options.limit: some seconds of work. */
#define REF_DEFAULT_LIMIT ((int64_t)2000000000)

/* States of an element. */
enum ref_state {
	REF_ABSENT,  /* the asking rank does not hold it; no output has this state */
	REF_SKIPPED, /* outside the sample that is evaluated, or computed from a skipped element */
	REF_POISON,  /* never written, or computed from a poison element */
	REF_DEFINED, /* has a value */
};

/* A logical tensor, row-major. */
struct ref_array {
	int nd;
	int64_t n[IR_MAX_LOGICAL];
	double *data;  /* every element, of any dtype */
	int64_t *ints; /* integers and bool: the exact values; NULL for floats */
	/* Only in outputs; zero in an input. */
	enum dtype dtype;
	uint8_t *state; /* by element: enum ref_state; compare only DEFINED ones */
	double *error;  /* by element: bound on the distance between data and a run's value, see
	                   ref_error.c; 0: they are equal */
	double *parts;  /* by element of a pending sum: sum of the magnitudes of its parts; NULL: not known */
	/* By element: elements with the same number, other than 0, are equal in every run. NULL: no two are
	 * known to be equal. */
	uint32_t *alike;
};

struct ref_sample;

struct ref_options {
	int64_t ranks;   /* of a host-level program; 0: as many as its meshes need */
	int64_t streams; /* numberOfStreams; 0: unbounded */
	/* The program's inputs, in order: floats in data, integers in ints (in data if ints is NULL). A
	 * pending input has its parts as a last dimension, one for each combination of indices along its mesh
	 * axes, row-major. */
	const struct ref_array *inputs;
	unsigned input_n;
	/* The run may apply functions and additions to a product before the product is rounded to its dtype. */
	bool fuses_functions;
	bool tf32;     /* the checked run may have rounded the operands of f32 products to tf32 */
	int64_t limit; /* multiplications in all contractions; larger programs are refused. 0: any number */
	/* Collectives round each step of a bf16 or f16 reduction to that dtype and add members in any order,
	 * as NCCL does; bf16 means are sums that are divided afterwards. If not set, they reduce in f32 and
	 * round once. */
	bool rounds_steps;
	/* A host-level program skips all elements outside this sample. NULL: it skips none. */
	const struct ref_sample *sample;
	const struct ref_sample *smaller; /* the sample that made the program smaller; NULL: none did */
	const char *way_out; /* what the user can do besides choosing smaller parameters, for a message;
	                        NULL: nothing */
	/* Called now and then with the share of the work that is done, 0 … 1; may be NULL. */
	void (*progress)(void *to, double done);
	void *progress_to;
};

/* Returns true if some statement has no meaning on logical tensors. Then the ranks are stepped, and each
 * computes from the elements that it holds. The caller must infer layouts and insert `set`s first. */
bool ref_is_host_level(struct module *m);

/* Counts the results of a program: its outputs in order, then the inout arguments that are not outputs. */
unsigned ref_result_count(const struct module *m);
value_id ref_result_value(const struct module *m, unsigned k);

/* Fills outputs[0 … ref_result_count(m) - 1]; the caller frees each with ref_array_free. On failure it fills
 * nothing and has reported the reason: DIAGNOSTICS for a program that cannot be evaluated, STUCK for a
 * deadlock (with the place of each rank), WRONG if ranks disagree about a replicated output. */
enum status ref_run(struct module *m, struct diag *d, const struct ref_options *o, struct ref_array *outputs);
void ref_array_free(struct ref_array *a); /* frees all arrays in it */

/* Returns the value of a dtype nearest to x (ties to even). Floats beyond the range become inf, f8e4m3 NaN.
 * Integers are truncated towards zero and clamped. */
double ref_round(enum dtype t, double x);
/* Returns the number of significant bits of a float dtype: 53 24 8 11 4 3. */
int ref_precision(enum dtype t);
/* Returns its largest number, and the smallest number with all these bits. */
double ref_largest(enum dtype t);
double ref_smallest(enum dtype t);
/* Returns its smallest positive number. */
double ref_quantum(enum dtype t);
/* Returns infinity, or the largest number of a float dtype without infinity. */
double ref_beyond(enum dtype t);

#endif
