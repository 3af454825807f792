/* values: proves what is in the memory of a program that `check` has found ordered.
 *
 * All ranks are walked side by side. Each buffer has facts (facts.h) that say which term of the inputs an
 * element holds. So the walk finds
 *
 *  - memory that is read although nothing has written it, also by other ranks;
 *  - parts: a statement reads or receives other elements than those that its result needs;
 *  - shares: a part of a sum is missing, or is added twice.
 *
 * Two programs compute the same function if their outputs have equal facts. */
#ifndef HIRC_VALUES_VALUES_H
#define HIRC_VALUES_VALUES_H
#include "base/diag.h"
#include "ir/ir.h"

struct values_options {
	int64_t ranks;
	int64_t streams; /* as for check_options */
	uint64_t work;   /* at most this many steps of all ranks; 0: no limit */
	/* values_compare: a set of the first program may stand for Communications. */
	bool half_lowered;
};
enum {
	VALUES_MAX_WORK =
	    1 << 22 /* accesses and Communications of a program that is walked in about a minute */
};

enum values_status {
	VALUES_PROVED,
	VALUES_WRONG,   /* errors were reported */
	VALUES_STOPPED, /* the walk failed or got stuck, which `check` reports */
	VALUES_TOO_LONG /* more steps than allowed */
};

struct values_result {
	op_id trusted;      /* the first statement whose result is taken as right; 0: none */
	uint32_t trusted_n; /* number of statements */
};

enum values_status values_prove(struct module *m, struct diag *d, const struct values_options *o,
                                struct values_result *out);

enum values_relation {
	VALUES_COMPUTES,   /* each element of each output has the same fact */
	VALUES_DIFFERS,    /* some element has another one; was reported */
	VALUES_NOT_RELATED /* a fact is not known, or cannot be compared; was noted */
};
/* Returns true if one rank that has all elements of all tensors may stand for all ranks. */
bool values_can_be_logical(const struct module *m);
/* Compares the outputs of a program with those of another, which come in the same order. Inputs of one name are one
 * tensor; if an input of a program has no name, the inputs correspond by their places. If the other
 * program cannot be logical, its layouts must be stated, and it is walked on all ranks. */
enum values_status values_compare(struct module *m, struct module *against, struct diag *d,
                                  const struct values_options *o, const char *name,
                                  enum values_relation *out);

#endif
