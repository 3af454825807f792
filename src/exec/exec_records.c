/* exec_records: see exec_records.h. */
#include "exec/exec_records.h"
#include "base/arena.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Views */

/* Sets the extents. Returns false if one of them is negative. */
static bool set_extents(const struct exec *e, struct view_record *w, struct rt_view *out)
{
	w->span = 0;
	w->nowhere = w->buffer->local;
	out->dtype = w->v->bytes ? DTYPE_U8 : w->buffer->dtype;
	out->nd = w->v->nd;
	for (unsigned k = 0; k < w->v->nd; k++) {
		int64_t n = e->reg[w->v->n[k]];
		out->n[k] = n;
		out->stride[k] = w->v->stride[k];
		if (n < 0)
			return false;
		w->nowhere |= n == 0;
		w->span += (n - 1) * w->v->stride[k];
	}
	return true;
}

/* Sets the window. Returns false if it is undefined or leaves its buffer. */
static bool build_view(struct exec *e, struct view_record *w, struct rt_view *out)
{
	if (!w->sized && !set_extents(e, w, out))
		return false;
	if (w->nowhere) {
		out->data = e->memory;
		return true;
	}
	int64_t slot = *w->slot, offset = *w->offset; /* PLAN_UNDEFINED is negative */
	if (slot < 0 || slot >= w->buffer->slots || offset < 0 || offset + w->span >= w->elements)
		return false;
	slot += w->buffer->first_slot;
	e->touched[slot] = true;
	out->data = e->slot[slot] + offset * w->bytes;
	return true;
}

static bool view_varies(const struct exec *e, const struct plan_view *v)
{
	return e->p->varies[v->slot] || e->p->varies[v->offset];
}

/* Sets the fields that never change. */
static void make_view(const struct exec *e, const struct plan_view *v, struct view_record *w,
                      struct rt_view *out)
{
	bool sized = true;
	w->v = v;
	w->buffer = &e->p->buffer.at[v->buffer];
	w->slot = &e->reg[v->slot];
	w->offset = &e->reg[v->offset];
	w->bytes = (int64_t)dtype_bytes(w->buffer->dtype);
	w->elements = w->buffer->elements;
	if (v->bytes)
		w->elements *= w->bytes, w->bytes = 1;
	for (unsigned k = 0; k < v->nd; k++)
		sized &= !e->p->varies[v->n[k]];
	w->sized = sized && set_extents(e, w, out);
}

static bool is_fixed(const struct exec *e, const struct view_record *w)
{
	return w->sized && !view_varies(e, w->v);
}

/* Tasks */

static void set_scalar(struct rt_scalar *to, int64_t value)
{
	*to = (struct rt_scalar){.f = (double)value, .i = value};
}

static void set_literal(struct rt_scalar *to, double x)
{
	to->f = x;
	to->i = x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : x != x ? 0 : (int64_t)x;
}

/* Rounds to the nearest number of the dtype. */
static void round_scalar(struct rt_scalar *x, enum dtype t)
{
	uint64_t bits = 0;
	if (dtype_is_float(t)) {
		rt_store_f64(t, &bits, x->f);
		set_literal(x, rt_load_f64(t, &bits));
	} else {
		if (x->f == (double)x->i)
			rt_store_i64(t, &bits, x->i);
		else
			rt_store_f64(t, &bits, x->f);
		set_scalar(x, rt_load_i64(t, &bits));
	}
}

/* Sets an operand to a literal or to the value of a register. */
static void set_number(struct rt_scalar *to, const struct plan_operand *from, int64_t value)
{
	if (from->is_reg)
		set_scalar(to, value);
	else
		set_literal(to, from->literal);
	if (from->rounded)
		round_scalar(to, (from->rounded - 1));
}

static uint64_t *contents_of(const struct exec *e, const struct plan_view *v)
{
	return &e->contents[e->p->buffer.at[v->buffer].contents];
}

static void make_task(const struct exec *e, const struct plan_task *t, struct task_record *r)
{
	struct rt_task *task = &r->task;
	r->t = t;
	task->kernel = (enum rt_kernel)t->kernel;
	task->scalars = t->scalars;
	task->axes = t->axes;
	task->fixed = t->fixed;
	if (task->kernel == RT_TASK_POINTWISE)
		task->op = t->op;
	else if (task->kernel == RT_TASK_REDUCE || task->kernel == RT_TASK_SCAN ||
	         task->kernel == RT_TASK_ACCUMULATE)
		task->reduce = t->op;
	else if (task->kernel == RT_TASK_NORM)
		task->norm = t->op, set_literal(&task->scalar[0], t->scalar[0].literal);
	else if (task->kernel == RT_TASK_GRADIENT)
		task->gradient = t->op;
	else if (task->kernel == RT_TASK_GEMM)
		task->has_bias = t->has_bias, task->has_addend = t->has_addend, task->scales = t->scales,
		task->saturates = t->saturates, task->accumulate = t->accumulate,
		task->function = t->function;
	r->contents = e->contents;
	if (task->kernel == RT_TASK_UNIT)
		return;
	r->contents = contents_of(e, &t->out);
	if (t->pack) {
		task->pack = &e->pack[t->pack - 1];
		r->read = contents_of(e, &t->in[1]);
		task->fixed &=
		    !e->p->buffer.at[t->in[1].buffer].written; /* otherwise the count of writes changes */
	}
	make_view(e, &t->out, &r->out, &task->out);
	for (unsigned k = 0; k < RT_OPERANDS; k++)
		if (!(t->scalars >> k & 1) && k < t->in_n)
			make_view(e, &t->in[k], &r->in[k], &task->in[k]);
		else if (t->scalars >> k & 1 && !t->scalar[k].is_reg)
			set_number(&task->scalar[k], &t->scalar[k], 0);
}

/* Makes the numbers of the elements of a UNIFORM. */
static void set_element_numbers(const struct plan_task *t, struct rt_task *task)
{
	task->in[0] = task->out;
	task->in[0].data = NULL;
	task->in[0].dtype = DTYPE_I64;
	memcpy(task->in[0].stride, t->in[0].stride, sizeof t->in[0].stride);
}

/* Sets the fields of task that may change. All other fields must have been copied from r. */
static bool build_task(struct exec *e, struct task_record *r, struct rt_task *task)
{
	const struct plan_task *t = r->t;
	if (t->pack)
		e->packs[t->pack - 1] = true;
	if (!build_view(e, &r->out, &task->out))
		return false;
	if (t->kernel == RT_TASK_UNIFORM)
		set_element_numbers(t, task);
	for (unsigned k = 0; k < RT_OPERANDS; k++) {
		if (t->scalars >> k & 1) {
			int64_t v = t->scalar[k].is_reg ? e->reg[t->scalar[k].reg] : 0;
			if (v == PLAN_UNDEFINED)
				return false;
			if (t->scalar[k].is_reg)
				set_number(&task->scalar[k], &t->scalar[k], v);
		} else if (k < t->in_n && !build_view(e, &r->in[k], &task->in[k])) {
			return false;
		}
	}
	return true;
}

/* Prepares contractions of fixed sizes. No other task takes longer the first time. */
static void prepare_contraction(const struct exec *e, const struct task_record *r)
{
	bool sized = r->task.kernel == RT_TASK_GEMM && r->out.sized;
	for (unsigned k = 0; k < r->t->in_n && sized; k++)
		sized = r->in[k].sized;
	if (sized)
		rt_device_prepare(e->device, RT_COMPUTE_LANE, &r->task);
}

/* Returns a record of a unit that no submitted task uses: the oldest one, or a new one. */
static struct rt_unit *free_unit(struct exec *e, struct task_record *r)
{
	const struct plan_task *t = r->t;
	struct rt_unit *newest = r->newest;
	if (newest && !atomic_load_explicit(&newest->next->busy, memory_order_acquire))
		return r->newest = newest->next;
	struct rt_unit *u = mem_zalloc(sizeof *u + sizeof *u->step * t->steps);
	u->locals = t->locals;
	u->steps = t->steps;
	for (uint32_t k = 0; k < t->steps; k++) {
		u->step[k].task = e->step[t->first + k].task;
		memcpy(u->step[k].local, e->p->step.at[t->first + k].local, sizeof u->step[k].local);
	}
	u->next = newest ? newest->next : u;
	if (newest)
		newest->next = u;
	return r->newest = u;
}

bool exec_task_build(struct exec *e, struct task_record *r)
{
	r->complete = r->t->fixed;
	if (r->task.kernel != RT_TASK_UNIT)
		return build_task(e, r, &r->task);
	/* A unit that loops change needs a record for each run in flight; it is used again when that run
	 * is done. */
	struct rt_unit *u = r->task.unit = free_unit(e, r);
	for (uint32_t k = 0; k < r->t->steps; k++)
		if (!build_task(e, &e->step[r->t->first + k], &u->step[k].task))
			return false;
	atomic_store_explicit(&u->busy, !r->t->fixed, memory_order_relaxed);
	return true;
}

static void free_units(struct task_record *r)
{
	struct rt_unit *newest = r->newest;
	for (struct rt_unit *u = newest ? newest->next : NULL, *next; u; u = next) {
		next = u == newest ? NULL : u->next;
		free(u);
	}
}

/* Communications */

static void make_collective(struct exec *e, const struct plan_collective *c, struct collective_record *r)
{
	const bool *varies = e->p->varies;
	const plan_reg *from[] = {c->counts, c->offsets, c->send_counts, c->send_offsets};
	struct rt_view unused;
	r->c = (struct rt_collective){
	    .kind = (enum collective)c->kind,
	    .counted = c->counted,
	    .dtype = c->dtype,
	    .op = c->reduce,
	    .team = e->team[c->team],
	};
	r->contents[0] = c->has_in ? contents_of(e, &c->in) : e->contents;
	r->contents[1] = c->has_out ? contents_of(e, &c->out) : e->contents;
	r->fixed = !varies[c->root] && !varies[c->count];
	for (unsigned j = 0; j < 4 && c->members; j++) {
		if (!from[j])
			continue;
		r->list[j] = mem_zalloc(sizeof *r->list[j] * c->members);
		for (uint32_t k = 0; k < c->members; k++)
			r->fixed &= !varies[from[j][k]];
	}
	r->c.counts = r->list[0], r->c.offsets = r->list[1];
	r->c.send_counts = r->list[2], r->c.send_offsets = r->list[3];
	if (c->has_in) {
		make_view(e, &c->in, &r->in, &unused);
		r->fixed &= is_fixed(e, &r->in);
	}
	if (c->has_out) {
		make_view(e, &c->out, &r->out, &unused);
		r->fixed &= is_fixed(e, &r->out);
	}
	if (c->is_late) {
		r->fixed &= !varies[c->late_unit] && !varies[c->late_room] && !varies[c->late_send_room];
		for (unsigned j = 0; j < 2; j++) {
			make_view(e, &c->late[j], &r->late[j], &unused);
			r->fixed &= is_fixed(e, &r->late[j]);
		}
	}
}

static bool build_lists(struct exec *e, const struct plan_collective *c, struct collective_record *r)
{
	const plan_reg *from[] = {c->counts, c->offsets, c->send_counts, c->send_offsets};
	for (unsigned j = 0; j < 4; j++)
		for (uint32_t k = 0; k < c->members && r->list[j]; k++)
			if ((r->list[j][k] = e->reg[from[j][k]]) < 0)
				return false;
	return true;
}

bool exec_collective_build(struct exec *e, uint32_t collective)
{
	const struct plan_collective *c = &e->p->collective.at[collective];
	struct collective_record *r = &e->collective[collective];
	struct rt_view in, out, late[2];
	r->complete = r->fixed;
	r->c.root = (int)e->reg[c->root];
	r->c.count = e->reg[c->count];
	if ((c->has_in && !build_view(e, &r->in, &in)) || (c->has_out && !build_view(e, &r->out, &out)) ||
	    r->c.count < 0 || !build_lists(e, c, r))
		return false;
	bool alone = c->kind == COLLECTIVE_REDUCE; /* a root without operand contributes nothing */
	r->c.in = c->has_in ? in.data : alone || !c->has_out ? NULL : out.data;
	r->c.out = c->has_out ? out.data : c->has_in ? in.data : NULL;
	if (!c->is_late)
		return true;
	if (!build_view(e, &r->late[0], &late[0]) || !build_view(e, &r->late[1], &late[1]))
		return false;
	r->c.late_counts = late[0].data;
	r->c.late_send_counts = late[1].data;
	r->c.late_unit = e->reg[c->late_unit];
	r->c.late_room = e->reg[c->late_room];
	r->c.late_send_room = e->reg[c->late_send_room];
	return true;
}

static void make_message(struct exec *e, const struct plan_message *m, struct message_record *r)
{
	struct rt_view unused;
	r->p = (struct rt_p2p){.send = m->send, .channel = m->channel, .dtype = m->dtype};
	make_view(e, &m->data, &r->data, &unused);
	r->contents = m->send ? e->contents : contents_of(e, &m->data);
	r->fixed = is_fixed(e, &r->data) && !e->p->varies[m->peer];
}

bool exec_message_build(struct exec *e, uint32_t message)
{
	const struct plan_message *m = &e->p->message.at[message];
	struct message_record *r = &e->message[message];
	struct rt_view data;
	int64_t peer = e->reg[m->peer];
	r->complete = r->fixed;
	if (!build_view(e, &r->data, &data) || peer < 0 || peer >= e->job->size)
		return false;
	r->p.peer = (int)peer;
	r->p.count = e->reg[m->data.n[0]];
	r->p.data = data.data;
	return true;
}

/* All */

void exec_records_make(struct exec *e)
{
	const struct plan *p = e->p;
	e->pack = mem_zalloc(sizeof *e->pack * (p->pack.n + 1));
	e->contents = mem_zalloc(sizeof *e->contents * (p->contents + 1));
	for (uint32_t i = 0; i < p->pack.n; i++)
		e->pack[i] = (struct rt_pack){.at = exec_at(e, p->pack.at[i].at),
		                              .bytes = (size_t)p->pack.at[i].bytes};
	for (uint32_t i = 1; i <= p->contents; i++)
		e->contents[i] = 1;
	e->task = mem_zalloc(sizeof *e->task * (p->task.n + 1));
	e->step = mem_zalloc(sizeof *e->step * (p->step.n + 1));
	e->collective = mem_zalloc(sizeof *e->collective * (p->collective.n + 1));
	e->message = mem_zalloc(sizeof *e->message * (p->message.n + 1));
	for (uint32_t i = 0; i < p->task.n; i++) {
		make_task(e, &p->task.at[i], &e->task[i]);
		prepare_contraction(e, &e->task[i]);
	}
	for (uint32_t i = 0; i < p->step.n; i++)
		make_task(e, &p->step.at[i], &e->step[i]);
	for (uint32_t i = 0; i < p->collective.n; i++)
		make_collective(e, &p->collective.at[i], &e->collective[i]);
	for (uint32_t i = 0; i < p->message.n; i++)
		make_message(e, &p->message.at[i], &e->message[i]);
}

void exec_records_free(struct exec *e)
{
	for (uint32_t i = 0; e->task && i < e->p->task.n; i++)
		free_units(&e->task[i]);
	for (uint32_t i = 0; e->collective && i < e->p->collective.n; i++)
		for (unsigned j = 0; j < 4; j++)
			free(e->collective[i].list[j]);
	free(e->pack);
	free(e->contents);
	free(e->task);
	free(e->step);
	free(e->collective);
	free(e->message);
}
