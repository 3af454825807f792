/* buckets_applier: the state while a schedule is applied to a program, for buckets.c and
 * buckets_recorded.c. */
#ifndef HIRC_PASS_BUCKETS_APPLIER_H
#define HIRC_PASS_BUCKETS_APPLIER_H
#include "base/vec.h"
#include "pass/buckets.h"

struct members {                          /* members of a bucket, in the original order */
	VEC(uint32_t) comm, wait;         /* nodes */
	value_id packed, result, arrived; /* values that stand for all of them */
	type_id type;                     /* Communications: result type of the merged one */
	op_id made;                       /* the merged Communication */
};

struct applier {
	struct module *m;
	region_id region;
	const struct block *b;
	const struct sched_schedule *s;
	struct members *bucket;
	struct arena *scratch;
	VEC(struct ir_use) use;
	VEC(struct attr) attr;
};

name_id buckets_word(struct applier *a, const char *text);
uint32_t buckets_place(const struct applier *a, uint32_t node);
/* Return the first operand and the first result of a node's statement. */
value_id buckets_operand(const struct applier *a, uint32_t node);
value_id buckets_result(const struct applier *a, uint32_t node);
/* Returns true if the results of a bucket are copied out of its buffer. */
bool buckets_unpacks(const struct applier *a, const struct members *b);

/* Add operands and attributes to the next statement that buckets_put makes. */
void buckets_add_read(struct applier *a, value_id v);
/* Adds a new result. Its name is that of `like`, if it has one, with a suffix. */
value_id buckets_add_result(struct applier *a, value_id like, type_id t, const char *suffix);
void buckets_add_int(struct applier *a, const char *key, int64_t v);
void buckets_add_ints(struct applier *a, const char *key, const int64_t *at, uint32_t n);
/* Copies the attributes of a statement, except those that belong to one member. */
void buckets_copy_attrs(struct applier *a, op_id op);
op_id buckets_put(struct applier *a, enum op_kind kind, uint32_t at);

/* Puts a step of a bucket of recorded statements, node x of the scheduled problem. */
void buckets_put_recorded(struct applier *a, struct members *b, enum sched_step step, uint32_t x);

#endif
