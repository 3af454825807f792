/* buckets_applier: a schedule being put into a program, for buckets.c and buckets_group.c. */
#ifndef HIRC_PASS_BUCKETS_APPLIER_H
#define HIRC_PASS_BUCKETS_APPLIER_H
#include "base/vec.h"
#include "pass/buckets.h"

struct members {                          /* of a bucket, in the original order */
	VEC(uint32_t) comm, wait;         /* nodes */
	value_id packed, result, arrived; /* values made for all of them */
	type_id type;                     /* of Communications: the result type of the one that is made */
	op_id made;                       /* that one */
};

struct applier {
	struct module *m;
	region_id region;
	const struct block *b;
	const struct sched_schedule *s;
	struct members *bucket;
	VEC(struct ir_use) use;
	VEC(struct attr) attr;
};

name_id buckets_word(struct applier *a, const char *text);
uint32_t buckets_place(const struct applier *a, uint32_t node);
bool buckets_is_typed(const struct applier *a, const struct members *b);

/* Operands and attributes of the statement that buckets_put makes next. */
void buckets_add_read(struct applier *a, value_id v);
void buckets_add_int(struct applier *a, const char *key, int64_t v);
/* members="a,b": the members of the statement, by the names of their results. */
void buckets_add_members(struct applier *a, const uint32_t *node, uint32_t n);
/* The attributes of a statement but the facts of one member. */
void buckets_copy_attrs(struct applier *a, op_id op);
op_id buckets_put(struct applier *a, enum op_kind kind, uint32_t at);

/* The wait of a statement made of Communications. */
void buckets_wait_typed(struct applier *a, struct members *b);
/* A step of a bucket whose members start together. */
void buckets_put_grouped(struct applier *a, struct members *b, enum sched_step step, int64_t time);

#endif
