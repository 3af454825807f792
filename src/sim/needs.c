/* needs: see needs.h. */
#include "sim/needs.h"
#include "ir/edit.h"
#include "ir/unit.h"
#include <stdlib.h>

enum { MOST_PARTS = 64 }; /* parts of a buffer that are kept */

struct parts { /* tasks that wrote parts of a buffer since it was last written whole */
	uint32_t at[MOST_PARTS], n;
};

struct place { /* a buffer, or the part of another place that a view with an index shows */
	value_id root;
	uint32_t of;
	uint16_t view; /* enum op_kind; 0: a buffer */
	attrs_id attrs;
	type_id type;
	int64_t index;
	uint32_t maker, round; /* maker: the last task that wrote it, + 1; valid if round is the root's */
};

struct sim_makers {
	struct module *m;
	VEC(struct place) place; /* first one for each value, used if it is a buffer */
	uint32_t *at;            /* by value: its place; 0: memory of other ranks */
	uint32_t *round;         /* by buffer: how often it was written whole */
	struct parts **part;     /* by buffer; NULL: none */
	struct hash_table views; /* of the places that are views */
};

struct sim_makers *sim_makers_new(struct module *m, struct arena *a)
{
	struct sim_makers *k = arena_new_array(a, struct sim_makers, 1);
	k->m = m;
	k->at = arena_new_array(a, uint32_t, m->value.n);
	k->round = arena_new_array(a, uint32_t, m->value.n);
	k->part = arena_new_array(a, struct parts *, m->value.n);
	for (value_id v = 0; v < m->value.n; v++) {
		vec_push(&k->place, ((struct place){.root = ir_root(m, v)}));
		k->at[v] = v;
	}
	return k;
}

void sim_makers_free(struct sim_makers *k)
{
	for (value_id v = 0; v < k->m->value.n; v++)
		free(k->part[v]);
	vec_free(&k->place);
	hash_table_free(&k->views);
}

/* ---- places */

static void forget_makers(struct sim_makers *k, value_id root)
{
	k->round[root]++;
	if (k->part[root])
		k->part[root]->n = 0;
}

void sim_makers_allocate(struct sim_makers *k, op_id op)
{
	for (unsigned i = 0; i < k->m->op.at[op].def_n; i++)
		forget_makers(k, op_def(k->m, op, i));
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->of == b->of && a->view == b->view && a->attrs == b->attrs && a->type == b->type &&
	       a->index == b->index;
}

void sim_makers_view(struct sim_makers *k, op_id op, int64_t index)
{
	const struct op *o = &k->m->op.at[op];
	value_id v = op_result(k->m, op, 0);
	struct place new = {.root = ir_root(k->m, v),
	                    .of = k->at[op_read(k->m, op, 0)],
	                    .view = o->kind,
	                    .attrs = o->attrs,
	                    .type = k->m->value.at[v].type,
	                    .index = index};
	uint64_t hash = hash_number(hash_number(hash_number(new.of, new.type), new.attrs), (uint64_t)index);
	struct hash_probe p = {.hash = hash};
	k->at[v] = 0;
	if (o->kind == OP_SYMMETRIC_VIEW || !new.of)
		return;
	uint32_t x;
	while ((x = hash_next(&k->views, &p)) && !is_same_place(&k->place.at[x], &new))
		;
	if (!x) {
		x = k->place.n;
		vec_push(&k->place, new);
		hash_insert(&k->views, hash, x);
	}
	k->at[v] = x;
}

/* ---- tasks */

static void add_need(struct sim_rank *r, uint32_t task, uint32_t maker)
{
	const struct sim_need *last = r->need.n ? &r->need.at[r->need.n - 1] : NULL;
	if (maker && maker - 1 != task && !(last && last->task == task && last->of == maker - 1))
		vec_push(&r->need, ((struct sim_need){task, maker - 1}));
}

static void need_place(const struct sim_makers *k, uint32_t at, uint32_t task, struct sim_rank *r)
{
	const struct place *x = &k->place.at[at];
	if (x->round == k->round[x->root])
		add_need(r, task, x->maker);
}

static void use_value(const struct sim_makers *k, value_id v, uint32_t task, struct sim_rank *r)
{
	uint32_t at = k->at[v];
	value_id root = k->place.at[at].root;
	if (!at)
		return;
	need_place(k, at, task, r);
	if (at != root)
		need_place(k, root, task, r);
	for (uint32_t i = 0; at == root && k->part[root] && i < k->part[root]->n; i++)
		add_need(r, task, k->part[root]->at[i]);
}

static void make_value(struct sim_makers *k, value_id v, uint32_t task)
{
	uint32_t at = k->at[v];
	value_id root = k->place.at[at].root;
	if (!at)
		return;
	if (at == root)
		forget_makers(k, root);
	k->place.at[at].maker = task + 1;
	k->place.at[at].round = k->round[root];
	if (at == root)
		return;
	if (!k->part[root])
		k->part[root] = mem_zalloc(sizeof *k->part[root]);
	struct parts *p = k->part[root];
	p->at[p->n < MOST_PARTS ? p->n++ : MOST_PARTS - 1] = task + 1;
}

/* Notes the reads or the writes of a statement; of a unit, those of all its statements. */
static void each(struct sim_makers *k, op_id op, uint32_t task, struct sim_rank *r, bool makes)
{
	for (unsigned i = 0; i < k->m->op.at[op].operand_n; i++) {
		const struct operand *x = ir_operand(k->m, op, i);
		if (!makes && x->role == ROLE_READ)
			use_value(k, x->id, task, r);
		else if (makes && (x->role == ROLE_DEF || x->role == ROLE_WRITE))
			make_value(k, x->id, task);
	}
	if (op_is_unit(k->m, op))
		region_each (k->m, o, k->m->op.at[op].region)
			each(k, o, task, r, makes);
}

void sim_makers_task(struct sim_makers *k, op_id op, uint32_t task, struct sim_rank *r)
{
	each(k, op, task, r, false);
	each(k, op, task, r, true);
}
