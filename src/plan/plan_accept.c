/* plan_accept: see plan_accept.h. */
#include "plan/plan_accept.h"
#include "base/arena.h"
#include "plan/plan_control.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 16 }; /* blocks that cost as much work as one instruction */

struct known_collective {
	struct plan_moved moved; /* result of its last issue */
	bool fixed;              /* later issues have the same result */
};

struct acceptance {
	const struct plan *p;
	const struct module *m;
	struct diag *d;
	int64_t *reg;
	bool *seen; /* by task: its views never change, and were found to be inside their buffers */
	struct known_collective *known; /* by collective */
	int64_t *room;                  /* six lists, each as long as the largest team */
	uint64_t *work;
	struct plan_lists *lists;
	struct plan_counts *counts;
};

/* Returns true if all elements of a window are inside a slot of its buffer. */
static bool is_inside(const struct acceptance *x, const struct plan_view *v)
{
	const struct plan_buffer *buffer = &x->p->buffer.at[v->buffer];
	int64_t elements =
	    v->bytes ? buffer->elements * (int64_t)dtype_bytes(buffer->dtype) : buffer->elements;
	int64_t span = 0, slot = x->reg[v->slot], offset = x->reg[v->offset];
	bool empty = buffer->local;
	for (unsigned k = 0; k < v->nd; k++) {
		int64_t n = x->reg[v->n[k]];
		if (n < 0)
			return false;
		empty |= n == 0;
		span += (n - 1) * v->stride[k];
	}
	return empty || (slot >= 0 && slot < buffer->slots && offset >= 0 && offset + span < elements);
}

static bool task_is_inside(const struct acceptance *x, const struct plan_task *t)
{
	bool inside = true;
	for (uint32_t k = 0; k < t->steps && t->kernel == RT_TASK_UNIT; k++)
		inside &= task_is_inside(x, &x->p->step.at[t->first + k]);
	if (t->kernel == RT_TASK_UNIT)
		return inside;
	inside = is_inside(x, &t->out);
	for (unsigned k = 0; k < RT_OPERANDS; k++)
		if (t->scalars >> k & 1)
			inside &= !t->scalar[k].is_reg || x->reg[t->scalar[k].reg] != PLAN_UNDEFINED;
		else if (k < t->in_n)
			inside &= is_inside(x, &t->in[k]);
	return inside;
}

static bool collective_is_inside(const struct acceptance *x, const struct plan_collective *c)
{
	const plan_reg *list[] = {c->counts, c->offsets, c->send_counts, c->send_offsets};
	bool inside = x->reg[c->count] >= 0 && (!c->has_in || is_inside(x, &c->in)) &&
	              (!c->has_out || is_inside(x, &c->out));
	for (unsigned j = 0; j < 4; j++)
		for (uint32_t k = 0; k < c->members && list[j]; k++)
			inside &= x->reg[list[j][k]] >= 0;
	return inside;
}

static bool message_is_inside(const struct acceptance *x, const struct plan_message *m)
{
	int64_t peer = x->reg[m->peer];
	return peer >= 0 && peer < x->p->ranks && is_inside(x, &m->data);
}

/* ---- blocks of collectives */

static const int64_t *intern_list(struct plan_lists *l, const int64_t *at, uint32_t n)
{
	const size_t bytes = sizeof *at * n;
	struct hash_probe p = {.hash = hash_block(0, at, bytes)};
	for (uint32_t k; (k = hash_next(&l->ids, &p));)
		if (l->list.at[k].n == n && !memcmp(l->list.at[k].at, at, bytes))
			return l->list.at[k].at;
	if (!l->arena) {
		l->arena = arena_new();
		vec_push(&l->list, (struct plan_list){0});
	}
	int64_t *copy = arena_new_array(l->arena, int64_t, n);
	memcpy(copy, at, bytes);
	vec_push(&l->list, (struct plan_list){n, copy});
	hash_insert(&l->ids, p.hash, l->list.n - 1);
	return copy;
}

/* Copies the values of registers; returns NULL if there are none. */
static const int64_t *copy_values(const struct acceptance *x, const plan_reg *reg, uint32_t n, int64_t *to)
{
	for (uint32_t k = 0; k < n && reg; k++)
		to[k] = x->reg[reg[k]];
	return reg ? to : NULL;
}

/* Finds the blocks of every member, cut as the transports cut them. */
static void find_blocks(struct acceptance *x, const struct plan_collective *c, struct plan_moved *moved)
{
	const struct plan_team *team = &x->p->team.at[c->team];
	const uint32_t n = team->n;
	int64_t *given = x->room, *taken = given + n;
	struct rt_collective r = {.kind = (enum collective)c->kind,
	                          .root = (int)x->reg[c->root],
	                          .count = moved->elements,
	                          .counts = copy_values(x, c->counts, c->members, taken + n),
	                          .offsets = copy_values(x, c->offsets, c->members, taken + 2 * n),
	                          .send_counts = copy_values(x, c->send_counts, c->members, taken + 3 * n),
	                          .send_offsets = copy_values(x, c->send_offsets, c->members, taken + 4 * n)};
	int own = 0;
	bool equal = true;
	while (team->rank[own] != x->p->rank)
		own++;
	for (int k = 0; k < (int)n; k++) {
		given[k] = rt_collective_gives(&r, own, k) ? rt_collective_given(&r, own, k).count : 0;
		taken[k] = rt_collective_gives(&r, k, own) ? rt_collective_taken(&r, own, k).count : 0;
		equal &= given[k] == given[0] && taken[k] == given[0];
	}
	moved->elements = r.kind == COLLECTIVE_REDUCE_SCATTER ? taken[own] : given[own];
	if (!equal && r.kind != COLLECTIVE_ALLGATHER)
		moved->given = intern_list(x->lists, given, n);
	if (!equal && r.kind != COLLECTIVE_REDUCE_SCATTER)
		moved->taken = intern_list(x->lists, taken, n);
	*x->work -= n / BLOCKS < *x->work
	                ? n / BLOCKS
	                : *x->work - 1; /* never to 0 here: the instruction itself takes the last unit */
}

/* Returns true if an instruction writes the number of elements or of a block. */
static bool count_varies(const struct plan *p, const struct plan_collective *c)
{
	bool varies = p->varies[c->count] || p->varies[c->root];
	for (uint32_t k = 0; k < c->members; k++)
		varies |= (c->counts && p->varies[c->counts[k]]) ||
		          (c->send_counts && p->varies[c->send_counts[k]]);
	return varies;
}

/* Counts the elements of a collective. Returns false if its memory is outside of its buffers. */
static bool accept_collective(struct acceptance *x, op_id op, uint32_t at)
{
	const struct plan_collective *c = &x->p->collective.at[at];
	struct known_collective *known = &x->known[at];
	if (!known->fixed) {
		known->moved = (struct plan_moved){.elements = x->reg[c->count]};
		known->moved.has_blocks = collective_has_blocks((enum collective)c->kind) && !c->is_late;
		known->fixed = !count_varies(x->p, c);
		if (known->moved.has_blocks)
			find_blocks(x, c, &known->moved);
	}
	vec_push(&x->counts->issue[op], known->moved);
	return collective_is_inside(x, c);
}

/* Counts the elements of a message, which are one run of memory (run_of). */
static void count_message(struct acceptance *x, op_id op, const struct plan_message *m)
{
	vec_push(&x->counts->issue[op], (struct plan_moved){.elements = x->reg[m->data.n[0]]});
}

/* Counts the elements of the instruction. Returns false if its memory is outside of its buffers. */
static bool accept_work(struct acceptance *x, const struct plan_instruction *i)
{
	const struct plan *p = x->p;
	switch ((enum plan_code)i->code) {
	case PLAN_TASK:
		if (x->seen[i->a])
			return true;
		x->seen[i->a] = p->task.at[i->a].fixed;
		return task_is_inside(x, &p->task.at[i->a]);
	case PLAN_COLLECTIVE:
		return accept_collective(x, i->statement, i->a);
	case PLAN_MESSAGE:
		count_message(x, i->c ? i->c : i->statement, &p->message.at[i->a]);
		return message_is_inside(x, &p->message.at[i->a]);
	default:
		return true;
	}
}

static void report_plan_failure(const struct acceptance *x, const struct plan_instruction *i, const char *why)
{
	struct buf text = {0};
	plan_failure_print(x->p, i, x->reg, why, &text);
	diag_error(x->d, plan_failure_code(x->p, i),
	           i->statement ? x->m->op.at[i->statement].at : DIAG_NOWHERE, "%s", text.at);
	if (i->loop)
		diag_note(x->d, DIAG_NOWHERE, "on rank %lld, in iteration %lld of the loop",
		          (long long)x->p->rank, (long long)x->reg[i->loop]);
	else
		diag_note(x->d, DIAG_NOWHERE, "on rank %lld", (long long)x->p->rank);
	buf_free(&text);
}

static enum plan_verdict accept_code(struct acceptance *x)
{
	for (uint32_t at = 0; *x->work; --*x->work) {
		const struct plan_instruction *i = &x->p->code.at[at++];
		if (i->code == PLAN_END)
			return PLAN_ACCEPTED;
		enum plan_step step = plan_control(x->p, i, x->reg, &at);
		if (step == PLAN_DONE || (step == PLAN_WORK && accept_work(x, i)))
			continue;
		report_plan_failure(x, i, step == PLAN_FAILS ? plan_failure(x->p, i) : PLAN_OUTSIDE);
		return PLAN_REFUSED;
	}
	return PLAN_UNDECIDED;
}

enum plan_verdict plan_accept(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                              const struct plan_target *target, uint64_t *work, struct plan_lists *lists,
                              struct plan_counts *out)
{
	out->n = m->op.n;
	out->issue = mem_zalloc(sizeof *out->issue * m->op.n);
	struct plan *p = plan_build(m, d, rank, ranks, target);
	if (!p)
		return PLAN_REFUSED;
	struct acceptance x = {.p = p, .m = m, .d = d, .work = work, .lists = lists, .counts = out};
	x.reg = mem_alloc(sizeof *x.reg * p->reg.n);
	memcpy(x.reg, p->reg.at, sizeof *x.reg * p->reg.n);
	x.seen = mem_zalloc(p->task.n + 1);
	x.known = mem_zalloc(sizeof *x.known * (p->collective.n + 1));
	x.room = mem_alloc(sizeof *x.room * (6 * (size_t)p->members + 1));
	enum plan_verdict verdict = accept_code(&x);
	free(x.reg);
	free(x.seen);
	free(x.known);
	free(x.room);
	plan_free(p);
	return verdict;
}

const struct plan_moved *plan_counts_get(const struct plan_counts *c, op_id op, uint32_t nth)
{
	return op < c->n && nth < c->issue[op].n ? &c->issue[op].at[nth] : NULL;
}

void plan_counts_free(struct plan_counts *c)
{
	for (uint32_t k = 0; k < c->n; k++)
		vec_free(&c->issue[k]);
	free(c->issue);
	*c = (struct plan_counts){0};
}

void plan_lists_free(struct plan_lists *l)
{
	vec_free(&l->list);
	hash_table_free(&l->ids);
	arena_free(l->arena);
	*l = (struct plan_lists){0};
}
