/* plan_norms: see plan_norms.h.
 *
 *     0  task H[0; 8:64 64:1] = add(X[…], R[…])
 *     1  task N[0; 8:64 64:1] = layernorm along 1(H[…], g[…], b[…])
 *     2  task Y[0; 8:64 64:1] = copy(N[…])
 *                                                →    0  task unit { H[…] = add(X[…], R[…]);
 *                                                                    N = layernorm along 1(H[…], …); Y[…] = copy(N) }
 *
 * The kernel of such a unit has two walks over a row: the steps up to the operand of the norm, and the norm
 * with the steps after it. The second walk has the row itself, but no other value of the first one. A value
 * that only the next step reads gets no memory, here N. */
#include "plan/plan_norms.h"
#include "plan/plan_fusion.h"
#include <string.h>

enum { MAX_STEPS = 32, MAX_LOCALS = 255 };

/* The steps of the unit that is tried. */
struct norm_unit {
	struct plan_task step[MAX_STEPS];
	uint32_t n, norm; /* number of steps; the step that is the norm */
	uint32_t locals;
};

static bool is_view(const struct plan_task *t, unsigned k)
{
	return k < t->in_n && !(t->scalars >> k & 1);
}

/* Returns true if the task makes each element from elements at the same place. A copy that transposes has a
 * kernel of its own. */
static bool is_elementwise(const struct plan_task *t)
{
	if (t->kernel == RT_TASK_POINTWISE)
		return true;
	return (t->kernel == RT_TASK_COPY || t->kernel == RT_TASK_BITCAST) && is_view(t, 0) &&
	       !memcmp(t->in[0].stride, t->out.stride, sizeof *t->out.stride * t->out.nd);
}

static bool same_elements(const struct plan_view *a, const struct plan_view *b)
{
	return a->nd == b->nd && !a->bytes && !b->bytes && !memcmp(a->n, b->n, sizeof *a->n * a->nd);
}

static void add_step(struct norm_unit *g, const struct plan_task *t, op_id statement)
{
	g->step[g->n] = *t;
	if (!t->statement)
		g->step[g->n].statement = statement;
	g->n++;
}

/* Adds a task, or the steps of a unit. Returns false if they cannot be in a unit with a norm over the elements
 * of `space`. */
static bool add_task(const struct plan *p, struct norm_unit *g, const struct plan_instruction *i,
                     const struct plan_view *space)
{
	const struct plan_task *t = &p->task.at[i->a], *step = t;
	uint32_t n = 1, locals = g->locals;
	if (t->kernel == RT_TASK_UNIT)
		step = &p->step.at[t->first], n = t->steps;
	if (g->n + n > MAX_STEPS || locals + t->locals > MAX_LOCALS)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		if (!is_elementwise(&step[k]) || !same_elements(&step[k].out, space))
			return false;
		add_step(g, &step[k], i->statement);
		for (unsigned j = 0; j < 4 && t->kernel == RT_TASK_UNIT;
		     j++) /* blocks of two units are distinct */
			g->step[g->n - 1].local[j] += g->step[g->n - 1].local[j] ? (uint8_t)locals : 0;
	}
	g->locals += t->locals;
	return true;
}

/* Returns true if the views of a buffer are one window, or none of them is written: another row of it may be at
 * work at the same time. */
static bool is_ordered(const struct plan *p, const struct norm_unit *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		const struct plan_task *w = &g->step[i];
		if (!plan_fusion_is_plain(&p->buffer.at[w->out.buffer]) && !w->local[0])
			return false;
		for (uint32_t j = 0; j < g->n; j++) {
			const struct plan_task *t = &g->step[j];
			if (t->out.buffer == w->out.buffer && !plan_fusion_same_window(p, &t->out, &w->out))
				return false;
			for (unsigned k = 0; k < 3; k++)
				if (is_view(t, k) && t->in[k].buffer == w->out.buffer &&
				    !plan_fusion_same_window(p, &t->in[k], &w->out))
					return false;
		}
	}
	return true;
}

/* Returns true if the steps after the norm read of the values made before it only the norm's operand, which
 * nothing makes again. */
static bool has_one_row(const struct norm_unit *g)
{
	const struct plan_task *norm = &g->step[g->norm];
	for (uint32_t i = g->norm; i < g->n; i++)
		for (uint32_t j = 0; j < g->norm; j++) {
			uint32_t made = g->step[j].out.buffer;
			if (g->step[i].out.buffer == made)
				return false;
			for (unsigned k = 0; k < 3; k++)
				if (is_view(&g->step[i], k) && g->step[i].in[k].buffer == made &&
				    (made != norm->in[0].buffer || (i == g->norm && k)))
					return false;
		}
	return true;
}

/* Returns true if a step before `end` makes the operand. */
static bool makes(const struct plan *p, const struct norm_unit *g, uint32_t first, uint32_t end,
                  const struct plan_view *v)
{
	for (uint32_t k = first; k < end; k++)
		if (plan_fusion_same_window(p, &g->step[k].out, v))
			return true;
	return false;
}

/* Returns true if the norm's row fits the registers of a block. */
static bool is_short(const struct plan_fusion *f, const struct plan_task *t)
{
	plan_reg n = t->out.n[t->axes];
	return t->axes == t->out.nd - 1u && !f->p->varies[n] && f->p->reg.at[n] <= f->wanted->row;
}

/* Gives a block to a value that one step makes and only one other reads. */
static void make_local(const struct plan_fusion *f, struct norm_unit *g, uint32_t maker)
{
	struct plan_task *m = &g->step[maker];
	const struct plan_buffer *buffer = &f->p->buffer.at[m->out.buffer];
	if (m->local[0] || f->uses[m->out.buffer] != 2 || buffer->input >= 0 || g->locals == MAX_LOCALS)
		return;
	for (uint32_t i = maker + 1; i < g->n; i++)
		for (unsigned k = 0; k < 3; k++)
			if (is_view(&g->step[i], k) && g->step[i].in[k].buffer == m->out.buffer) {
				m->local[0] = g->step[i].local[k + 1] = (uint8_t)++g->locals;
				plan_fusion_leave_out(f, m->out.buffer);
				return;
			}
}

/* Puts the unit in the place of the instruction `last`. The others go. */
static void put_unit(struct plan_fusion *f, struct norm_unit *g, const uint32_t *at, unsigned n,
                     uint32_t norm)
{
	struct plan *p = f->p;
	struct plan_instruction i = p->code.at[norm];
	struct plan_task t = {.kernel = RT_TASK_UNIT, .first = p->step.n, .steps = g->n};
	for (uint32_t k = 0; k < g->n; k++)
		make_local(f, g, k);
	t.locals = g->locals;
	t.out = p->task.at[i.a].out;
	for (uint32_t k = 0; k < g->n; k++)
		vec_push(&p->step, g->step[k]);
	for (unsigned k = 0; k < n; k++) {
		f->unused[p->code.at[at[k]].a] = at[k] != norm;
		f->gone[at[k]] = k + 1 < n;
	}
	p->task.at[i.a] = t;
	p->code.at[at[n - 1]] = i;
}

/* Returns the task before an instruction, with only scalars between; UINT32_MAX: none. */
static uint32_t task_before(const struct plan_fusion *f, uint32_t at)
{
	for (uint32_t k = at; k-- > 0 && !f->target[k + 1];) {
		const struct plan_instruction *i = &f->p->code.at[k];
		if (f->gone[k] || i->code == PLAN_LET || i->code == PLAN_CHECK)
			continue;
		return i->code == PLAN_TASK ? k : UINT32_MAX;
	}
	return UINT32_MAX;
}

static bool is_right(const struct plan *p, const struct norm_unit *g)
{
	return is_ordered(p, g) && has_one_row(g);
}

/* Joins a norm with the task that makes its operand and with the one that reads its result. */
static void fuse_norm(struct plan_fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	const struct plan_task norm = p->task.at[p->code.at[at].a];
	uint32_t before = task_before(f, at), after = plan_fusion_next(f, at), place[3];
	unsigned n = 0;
	struct norm_unit g = {0}, larger;
	if (norm.kernel != RT_TASK_NORM || !is_short(f, &norm))
		return;
	if (before != UINT32_MAX && add_task(p, &g, &p->code.at[before], &norm.out) &&
	    makes(p, &g, 0, g.n, &norm.in[0])) {
		g.norm = g.n;
		add_step(&g, &norm, p->code.at[at].statement);
		if (is_right(p, &g))
			place[n++] = before;
	}
	if (!n) {
		g = (struct norm_unit){0};
		add_step(&g, &norm, p->code.at[at].statement);
	}
	place[n++] = at;
	larger = g;
	if (after && g.n < MAX_STEPS && add_task(p, &larger, &p->code.at[after], &norm.out) &&
	    is_right(p, &larger)) {
		bool reads = false;
		for (uint32_t i = g.n; i < larger.n; i++)
			for (unsigned k = 0; k < 3; k++)
				reads |= is_view(&larger.step[i], k) &&
				         larger.step[i].in[k].buffer == norm.out.buffer;
		if (reads)
			g = larger, place[n++] = after;
	}
	if (n > 1)
		put_unit(f, &g, place, n, at);
}

void plan_norms(struct plan *p, const struct plan_target *target)
{
	struct plan_fusion f;
	if (!target->row || !p->task.n)
		return;
	plan_fusion_open(&f, p, target);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_norm(&f, k);
	plan_fusion_close(&f);
}
