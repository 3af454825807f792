/* exec_written: see exec_written.h. */
#include "exec/exec_written.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

enum { WORD = 64 };

struct output {
	uint32_t buffer;
	int64_t elements, bytes; /* number of elements; bytes of an element */
	uint64_t *bits; /* by rank, `words` each: written elements; other ranks only if it is symmetric */
	size_t words;
	int ranks;
};

struct exec_written {
	int rank;
	unsigned n;
	struct output *output;
	uint32_t *of; /* by buffer: index of the output (for views, of the viewed buffer) + 1; 0: no output */
};

static size_t bit_bytes(const struct output *o)
{
	return o->words * sizeof(uint64_t);
}

static uint64_t *bits_of_rank(const struct output *o, int rank)
{
	return o->bits + (o->ranks > 1 ? (size_t)rank : 0) * o->words;
}

static void set_bits(uint64_t *bits, int64_t from, int64_t to)
{
	for (; from < to && from % WORD; from++)
		bits[from / WORD] |= (uint64_t)1 << from % WORD;
	for (; from + WORD <= to; from += WORD)
		bits[from / WORD] = UINT64_MAX;
	for (; from < to; from++)
		bits[from / WORD] |= (uint64_t)1 << from % WORD;
}

static void add_output(struct exec_written *w, const struct exec *e, uint32_t buffer)
{
	if (buffer == UINT32_MAX || w->of[buffer])
		return;
	const struct plan_buffer *b = &e->p->buffer.at[buffer];
	struct output *o = &w->output[w->n++];
	*o = (struct output){.buffer = buffer,
	                     .elements = b->elements,
	                     .bytes = (int64_t)dtype_bytes(b->dtype),
	                     .words = (size_t)(b->elements + WORD - 1) / WORD,
	                     .ranks = b->symmetric ? e->job->size : 1};
	o->bits = mem_zalloc(bit_bytes(o) * (size_t)o->ranks + 1);
	w->of[buffer] = w->n;
	if (b->input >= 0) /* inputs have values before the run */
		set_bits(bits_of_rank(o, e->job->rank), 0, o->elements);
}

struct exec_written *exec_written_new(const struct exec *e)
{
	const struct plan *p = e->p;
	struct exec_written *w = mem_zalloc(sizeof *w);
	w->rank = e->job->rank;
	w->output = mem_zalloc(sizeof *w->output * (p->output.n + 1));
	w->of = mem_zalloc(sizeof *w->of * (p->buffer.n + 1));
	for (uint32_t k = 0; k < p->output.n; k++)
		add_output(w, e, p->output.at[k].buffer);
	for (uint32_t k = 0; k < p->buffer.n; k++)
		if (p->buffer.at[k].view)
			w->of[k] = w->of[p->buffer.at[k].of];
	return w;
}

void exec_written_free(struct exec_written *w)
{
	if (!w)
		return;
	for (unsigned k = 0; k < w->n; k++)
		free(w->output[k].bits);
	free(w->output);
	free(w->of);
	free(w);
}

/* ---- marking */

/* Marks the elements within n bytes of a buffer, or of the blocks that a view of several ranks shows. */
static void mark_bytes(const struct exec *e, const struct output *o, const struct plan_buffer *b,
                       int64_t from, int64_t n)
{
	for (int64_t end = from + n; from < end;) {
		int64_t block = b->view ? from / b->block_bytes : 0, start = block * b->block_bytes,
		        to = b->view && start + b->block_bytes < end ? start + b->block_bytes : end,
		        last = (to - start) / o->bytes;
		int rank = b->view ? (int)e->p->team.at[b->team].rank[block] : e->job->rank;
		set_bits(bits_of_rank(o, rank), (from - start + o->bytes - 1) / o->bytes,
		         last < o->elements ? last : o->elements);
		from = to;
	}
}

/* Returns the output that a view shows; NULL if there is none. */
static const struct output *output_of(const struct exec_written *w, const struct exec *e,
                                      const struct view_record *v)
{
	uint32_t k = v->v ? w->of[v->buffer - e->p->buffer.at] : 0;
	return k && !v->nowhere ? &w->output[k - 1] : NULL;
}

/* Marks `n` elements of a contiguous view, from its element `from` on. */
static void mark_run(const struct exec_written *w, const struct exec *e, const struct view_record *v,
                     int64_t from, int64_t n)
{
	const struct output *o = output_of(w, e, v);
	if (o && n > 0)
		mark_bytes(e, o, v->buffer, (*v->offset + from) * v->bytes, n * v->bytes);
}

static void mark_view(const struct exec_written *w, const struct exec *e, const struct view_record *v)
{
	const struct output *o = output_of(w, e, v);
	int64_t n[RT_MAX_DIMS + 1], stride[RT_MAX_DIMS + 1], index[RT_MAX_DIMS] = {0}, at = 0, run = 1;
	int nd = v->v ? v->v->nd : 0;
	if (!o)
		return;
	for (int d = 0; d < nd; d++) {
		n[d] = e->reg[v->v->n[d]];
		stride[d] = v->v->stride[d];
		if (stride[d] == 0)
			n[d] = 1;
	}
	while (nd > 0 && (n[nd - 1] == 1 || stride[nd - 1] == run))
		run *= n[--nd];
	for (;;) {
		mark_bytes(e, o, v->buffer, (*v->offset + at) * v->bytes, run * v->bytes);
		int d = nd - 1;
		for (; d >= 0; d--) {
			at += stride[d];
			if (++index[d] < n[d])
				break;
			at -= stride[d] * n[d];
			index[d] = 0;
		}
		if (d < 0)
			return;
	}
}

static bool adds_only(const struct plan_task *t)
{
	return (t->kernel == RT_TASK_GEMM && t->accumulate) || t->kernel == RT_TASK_SCATTER;
}

void exec_written_task(struct exec_written *w, const struct exec *e, const struct task_record *r)
{
	if (r->t->kernel != RT_TASK_UNIT && !adds_only(r->t))
		mark_view(w, e, &r->out);
	for (uint32_t k = 0; r->t->kernel == RT_TASK_UNIT && k < r->t->steps; k++)
		mark_view(w, e, &e->step[r->t->first + k].out);
}

void exec_written_collective(struct exec_written *w, const struct exec *e, uint32_t collective)
{
	const struct collective_record *r = &e->collective[collective];
	const struct plan_collective *p = &e->p->collective.at[collective];
	const struct plan_team *team = &e->p->team.at[p->team];
	const struct view_record *to = p->has_out ? &r->out : &r->in;
	const struct rt_collective *c = &r->c;
	int own = 0;
	while (own < (int)team->n && (int)team->rank[own] != e->job->rank)
		own++;
	bool root = own == c->root;
	if (own == (int)team->n || !c->out)
		return;
	if (collective_is_to_root(c->kind) ? !root : c->kind == COLLECTIVE_SEND_RECV && root && team->n > 1)
		return;
	if (p->is_late) {
		mark_run(w, e, to, 0, c->late_room * c->late_unit);
	} else if (!collective_has_blocks(c->kind)) {
		mark_run(w, e, to, 0, c->count);
	} else if (collective_out(c->kind) == PART_OWN) {
		mark_run(w, e, to, 0, rt_collective_block(c, own).count);
	} else {
		for (int k = 0; k < (int)team->n; k++) {
			struct rt_block b = rt_collective_block(c, k);
			mark_run(w, e, to, b.offset, b.count);
		}
	}
}

void exec_written_message(struct exec_written *w, const struct exec *e, uint32_t message)
{
	const struct message_record *r = &e->message[message];
	if (!r->p.send)
		mark_run(w, e, &r->data, 0, r->p.count);
}

/* ---- after a run */

/* Adds all ranks' writes to an output of rank `to`, on that rank. o: NULL if this rank has no part of
 * it. */
static enum status exchange_written_bits(const struct exec *e, struct output *o, int to, size_t words)
{
	size_t bytes = words * sizeof(uint64_t);
	uint64_t *mine = mem_zalloc(bytes), *all = mem_alloc(bytes * (size_t)e->job->size);
	if (o)
		memcpy(mine, bits_of_rank(o, to), bit_bytes(o));
	enum status status = rt_job_allgather(e->job, "which elements were written", mine, bytes, all);
	for (int r = 0; o && r < e->job->size && status == STATUS_OK && to == e->job->rank; r++)
		for (size_t k = 0; k < o->words; k++)
			bits_of_rank(o, to)[k] |= all[(size_t)r * words + k];
	free(mine);
	free(all);
	return status;
}

enum status exec_written_exchange(struct exec_written *w, const struct exec *e)
{
	uint32_t n = e->p->output.n; /* the same number on all ranks, even if some lack an output */
	int ranks = e->job->size;
	size_t *mine = mem_zalloc(sizeof *mine * (n + 1)),
	       *all = mem_alloc(sizeof *all * (n + 1) * (size_t)ranks);
	struct output **of = mem_zalloc(sizeof *of * (n + 1));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t buffer = e->p->output.at[k].buffer;
		if (buffer != UINT32_MAX && e->p->buffer.at[buffer].symmetric) {
			of[k] = &w->output[w->of[buffer] - 1];
			mine[k] = of[k]->words;
		}
	}
	enum status status =
	    rt_job_allgather(e->job, "which outputs are symmetric", mine, sizeof *mine * n, all);
	for (uint32_t k = 0; k < n; k++) {
		size_t words = 0;
		for (int r = 0; r < ranks; r++) {
			size_t theirs = all[(size_t)r * n + k];
			words = theirs > words ? theirs : words;
		}
		for (int to = 0; to < ranks && words && status == STATUS_OK; to++)
			status = exchange_written_bits(e, of[k], to, words);
	}
	free(mine);
	free(all);
	free(of);
	return status;
}

const uint64_t *exec_written_bits(const struct exec_written *w, uint32_t buffer)
{
	const struct output *o = buffer != UINT32_MAX && w->of[buffer] ? &w->output[w->of[buffer] - 1] : NULL;
	return o ? bits_of_rank(o, w->rank) : NULL;
}
