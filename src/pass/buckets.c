/* buckets: see buckets.h. */
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/ir_bucket.h"
#include "pass/buckets_applier.h"
#include "pass/rewrite.h"
#include <stdlib.h>

/* ---- values and attributes */

name_id buckets_word(struct applier *a, const char *text)
{
	return names_intern_z(a->m->names, text);
}

void buckets_add_read(struct applier *a, value_id v)
{
	vec_push(&a->use, ((struct ir_use){ROLE_READ, v}));
}

value_id buckets_add_result(struct applier *a, value_id like, type_id t, const char *suffix)
{
	struct module *m = a->m;
	struct buf name = {0};
	name_id known = m->value.at[like].name;
	if (known)
		buf_printf(&name, "%s.%s", names_text(m->names, known), suffix);
	value_id v =
	    ir_value_new(m, t, known ? names_intern(m->names, name.at, name.n) : 0, m->value.at[like].at);
	buf_free(&name);
	vec_push(&a->use, ((struct ir_use){ROLE_DEF, v}));
	return v;
}

void buckets_copy_attrs(struct applier *a, op_id op)
{
	static const char *const own[] = {"time", "bytes", "in_bytes", "view", "writes", "scratch"};
	enum { OWN = sizeof own / sizeof *own };
	const struct attrs *l = &a->m->attrs.at[a->m->op.at[op].attrs];
	a->attr.n = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		unsigned k = 0;
		while (k < OWN && l->at[i].key != buckets_word(a, own[k]))
			k++;
		if (k == OWN)
			vec_push(&a->attr, l->at[i]);
	}
}

void buckets_add_int(struct applier *a, const char *key, int64_t v)
{
	vec_push(&a->attr, ((struct attr){.key = buckets_word(a, key), .kind = ATTR_INT, .u.i = v}));
}

void buckets_add_ints(struct applier *a, const char *key, const int64_t *at, uint32_t n)
{
	vec_push(&a->attr,
	         ((struct attr){.key = buckets_word(a, key), .kind = ATTR_INTS, .n = n, .u.ints = at}));
}

op_id buckets_put(struct applier *a, enum op_kind kind, uint32_t at)
{
	op_id op = ir_op_new(a->m, kind, at, a->use.at, a->use.n);
	a->m->op.at[op].attrs = ir_attrs(a->m, a->attr.at, a->attr.n);
	ir_append(a->m, a->region, op);
	a->use.n = a->attr.n = 0;
	return op;
}

/* ---- members */

value_id buckets_operand(const struct applier *a, uint32_t node)
{
	return op_read(a->m, a->b->op[node], 0);
}

value_id buckets_result(const struct applier *a, uint32_t node)
{
	return op_result(a->m, a->b->op[node], 0);
}

uint32_t buckets_place(const struct applier *a, uint32_t node)
{
	return a->m->op.at[a->b->op[node]].at;
}

bool buckets_unpacks(const struct applier *a, const struct members *b)
{
	const struct sched_problem *p = &a->b->p;
	return !p->grouped && (p->copies || p->family[sched_transfer(p, b->comm.at[0])->family].collective ==
	                                        SCHED_ALLGATHER);
}

/* ---- of Communications */

static bool is_typed(const struct applier *a, const struct members *b)
{
	return a->m->op.at[a->b->op[b->comm.at[0]]].kind != OP_EXTERN;
}

static void add_blocks(struct applier *a, op_id comm, enum op_kind cut)
{
	int64_t n = ir_bucket_blocks(a->m, comm);
	if (n > 1 && (enum op_kind)a->m->op.at[comm].kind == cut)
		buckets_add_int(a, "blocks", n);
}

static void pack_typed(struct applier *a, struct members *b)
{
	op_id first = a->b->op[b->comm.at[0]], *comm = mem_alloc(sizeof *comm * b->comm.n);
	type_id packed;
	for (uint32_t i = 0; i < b->comm.n; i++)
		comm[i] = a->b->op[b->comm.at[i]];
	ir_bucket_types(a->m, comm, b->comm.n, &packed, &b->type);
	b->packed = buckets_add_result(a, buckets_result(a, b->comm.at[0]), packed, "packed");
	for (uint32_t i = 0; i < b->comm.n; i++)
		buckets_add_read(a, buckets_operand(a, b->comm.at[i]));
	add_blocks(a, first, OP_REDUCE_SCATTER);
	buckets_put(a, OP_PACK, buckets_place(a, b->comm.at[0]));
	free(comm);
}

static void communicate_typed(struct applier *a, struct members *b)
{
	op_id first = a->b->op[b->comm.at[0]];
	b->result = buckets_add_result(a, buckets_result(a, b->comm.at[0]), b->type, "bucket");
	buckets_add_read(a, b->packed);
	buckets_copy_attrs(a, first);
	b->made = buckets_put(a, (enum op_kind)a->m->op.at[first].kind, buckets_place(a, b->comm.at[0]));
	a->m->op.at[b->made].flags |= OP_ASYNC;
	a->m->op.at[b->made].team = a->m->op.at[first].team;
	a->m->value.at[b->result].type = infer_reduce_axes(a->m, b->made, b->type);
}

static void wait_typed(struct applier *a, struct members *b)
{
	vec_push(&a->use, ((struct ir_use){ROLE_STATEMENT, b->made}));
	buckets_put(a, OP_WAIT, buckets_place(a, b->wait.at[0]));
	for (uint32_t i = 0; i < b->wait.n; i++)
		ir_remove(a->m, a->b->op[b->wait.at[i]]);
}

/* Removes the members, and defines their results here. */
static void unpack_typed(struct applier *a, struct members *b)
{
	op_id first = a->b->op[b->comm.at[0]];
	bool writes = a->m->op.at[first].def_n == 0;
	for (uint32_t i = 0; i < b->comm.n; i++) {
		ir_remove(a->m, a->b->op[b->comm.at[i]]);
		value_id v = buckets_result(a, b->comm.at[i]);
		if (writes)
			continue;
		a->m->value.at[v].type = infer_without_reduce(a->m, a->m->value.at[v].type);
		vec_push(&a->use, ((struct ir_use){ROLE_DEF, v}));
	}
	buckets_add_read(a, b->result);
	for (uint32_t i = 0; i < b->comm.n && writes; i++)
		vec_push(&a->use, ((struct ir_use){ROLE_WRITE, buckets_result(a, b->comm.at[i])}));
	add_blocks(a, first, OP_ALLGATHER);
	buckets_put(a, OP_UNPACK, buckets_place(a, b->wait.at[0]));
}

static void put_step_typed(struct applier *a, struct members *b, enum sched_step step)
{
	if (step == SCHED_STEP_PACK)
		pack_typed(a, b);
	else if (step == SCHED_STEP_COMM)
		communicate_typed(a, b);
	else if (step == SCHED_STEP_WAIT)
		wait_typed(a, b);
	else
		unpack_typed(a, b);
}

/* Starts the members together, between start_coalescing and end_coalescing; one wait names the end. */
static void start_group_typed(struct applier *a, struct members *b)
{
	struct module *m = a->m;
	buckets_put(a, OP_START_COALESCING, buckets_place(a, b->comm.at[0]));
	for (uint32_t i = 0; i < b->comm.n; i++) {
		ir_move_to_end(m, a->region, a->b->op[b->comm.at[i]]);
		m->op.at[a->b->op[b->comm.at[i]]].flags |= OP_GROUPED;
	}
	b->made = buckets_put(a, OP_END_COALESCING, buckets_place(a, b->comm.at[0]));
	m->op.at[b->made].flags |= OP_ASYNC;
}

/* ---- the order */

static void put_step(struct applier *a, uint32_t x)
{
	struct sched_origin o = a->s->b.origin[x];
	if (o.bucket == SCHED_NONE) {
		ir_move_to_end(a->m, a->region, a->b->op[o.node]);
		return;
	}
	struct members *b = &a->bucket[o.bucket];
	if (!is_typed(a, b))
		buckets_put_recorded(a, b, o.step, x);
	else if (!a->b->p.grouped)
		put_step_typed(a, b, o.step);
	else if (o.step == SCHED_STEP_COMM)
		start_group_typed(a, b);
	else
		wait_typed(a, b);
}

/* Returns true if a buffer is written once, and never through a view. */
static bool is_written_once(const struct module *m, value_id v)
{
	unsigned writes = 0;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		const struct operand *x = &m->operand.at[u];
		if (x->role == ROLE_FREE || (x->role == ROLE_READ && op_traits(m, x->op) & TRAIT_VIEW))
			return false;
		writes += x->role == ROLE_WRITE;
	}
	return writes == 1;
}

void buckets_unbind(struct module *m, region_id region, const value_id *allocated, uint32_t n)
{
	bool *ours = mem_zalloc(m->value.n);
	for (uint32_t i = 0; i < n; i++)
		ours[allocated[i]] = true;
	region_each (m, op, region) {
		value_id v = op_write(m, op, 0);
		op_id allocate = v ? m->value.at[v].def : 0;
		if (!(m->op.at[op].flags & OP_ASYNC) || !(op_traits(m, op) & TRAIT_COLLECTIVE) || !ours[v] ||
		    !allocate || m->op.at[allocate].kind != OP_ALLOCATE ||
		    m->op.at[allocate].parent != region || !is_written_once(m, v))
			continue;
		struct ir_use use[4] = {{ROLE_DEF, v}};
		unsigned uses = 1;
		for (unsigned i = 0; i < m->op.at[op].operand_n && uses < 4; i++)
			if (ir_operand(m, op, i)->role != ROLE_WRITE)
				use[uses++] =
				    (struct ir_use){ir_operand(m, op, i)->role, ir_operand(m, op, i)->id};
		ir_remove(m, allocate);
		ir_op_set_operands(m, op, use, uses);
		m->value.at[v].def = op;
	}
	free(ours);
}

void buckets_apply(struct module *m, region_id region, const struct block *b, const struct sched_schedule *s)
{
	struct applier a = {.m = m, .region = region, .b = b, .s = s, .scratch = arena_new()};
	uint32_t n = 0;
	for (uint32_t k = 0; k < b->p.transfer_n; k++)
		if (s->bucket[k] != SCHED_NONE && s->bucket[k] >= n)
			n = s->bucket[k] + 1;
	a.bucket = mem_zalloc(sizeof *a.bucket * ((size_t)n + 1));
	for (uint32_t x = 0; x < b->p.n; x++) {
		struct sched_origin o = s->b.origin[s->b.became[x]];
		if (o.bucket == SCHED_NONE)
			continue;
		if (b->p.node[x].kind == SCHED_COMM)
			vec_push(&a.bucket[o.bucket].comm, x);
		else
			vec_push(&a.bucket[o.bucket].wait, x);
	}
	for (uint32_t k = 0; k < s->b.p.n; k++)
		put_step(&a, s->order[k]);
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = 0; i < a.bucket[k].comm.n && !b->p.grouped; i++)
			if (!(m->op.at[b->op[a.bucket[k].comm.at[i]]].flags & OP_DEAD))
				ir_remove(m, b->op[a.bucket[k].comm.at[i]]);
		vec_free(&a.bucket[k].comm);
		vec_free(&a.bucket[k].wait);
	}
	free(a.bucket);
	arena_free(a.scratch);
	vec_free(&a.use);
	vec_free(&a.attr);
}
