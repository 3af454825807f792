/* ref_comm: the elements that collectives and messages move.
 *
 * Where operand and result have the same shape, elements are matched by index: a rank gets the elements of
 * its part of the result, from the ranks that the kind of collective names. Where the shapes differ (a select
 * has removed a mesh axis), elements are matched by their place in memory: an allgather's result is the
 * members' blocks one after the other. */
#include "ir/keeps_index.h"
#include "ref/ref_host.h"
#include <math.h>
#include <string.h>

enum reduce_op ref_reduce_op(const struct module *m, op_id op)
{
	enum reduce_op r;
	if (op_attr_reduce(m, op, &r))
		return r;
	const struct domain *d = value_domain(m, op_read(m, op, 0));
	uint8_t axis[IR_MAX_LOGICAL];
	return ref_partial_axes(d, axis) ? d->axis[axis[0]].reduce : REDUCE_SUM;
}

struct exchange {
	struct ref_host *h;
	const struct ref_event *event;
	enum op_kind kind;
	unsigned n;
	bool flat;
	struct ref_array *in; /* by member: its operand; no data if it gives nothing */
};

static const char *kind_name(const struct ref_host *h, const struct ref_party *p)
{
	return op_info[ir_op(h->c->m, p->op)->kind].hir;
}

static uint32_t at_of(const struct exchange *x, unsigned member)
{
	return ir_op(x->h->c->m, x->event->party[member].op)->at;
}

/* Checks that all members are in the same kind of collective, with the same root. */
static bool check_parties(struct ref_host *h, const struct ref_event *e)
{
	const struct ref_party *p = e->party;
	const uint32_t *device = e->channel->device;
	for (unsigned k = 1; k < e->channel->n; k++) {
		if (ir_op(h->c->m, p[k].op)->kind != ir_op(h->c->m, p[0].op)->kind) {
			diag_error(h->c->d, E_MISMATCH, ir_op(h->c->m, p[0].op)->at,
			           "rank %u is in %s while rank %u is in %s", (unsigned)device[0],
			           kind_name(h, &p[0]), (unsigned)device[k], kind_name(h, &p[k]));
			diag_note(h->c->d, ir_op(h->c->m, p[k].op)->at, "rank %u is here",
			          (unsigned)device[k]);
			return false;
		}
		if (p[k].root != p[0].root) {
			diag_error(h->c->d, E_MISMATCH, ir_op(h->c->m, p[0].op)->at,
			           "the root of %s is %lld on rank %u and %lld on rank %u",
			           kind_name(h, &p[0]), (long long)p[0].root, (unsigned)device[0],
			           (long long)p[k].root, (unsigned)device[k]);
			return false;
		}
	}
	for (unsigned k = 0; k < e->channel->n; k++) {
		bool rooted = op_traits(h->c->m, p[k].op) & TRAIT_ROOTED,
		     permute = ir_op(h->c->m, p[k].op)->kind == OP_COLLECTIVE_PERMUTE;
		int64_t n = e->channel->n, peer[3] = {rooted ? p[k].root : 0, permute ? p[k].send_peer : 0,
		                                      permute ? p[k].recv_peer : 0};
		for (unsigned j = 0; j < 3; j++)
			if (peer[j] < 0 || peer[j] >= n) {
				diag_error(h->c->d, E_PEER, ir_op(h->c->m, p[k].op)->at,
				           "%lld is no index into the team of %lld of rank %u",
				           (long long)peer[j], (long long)n, (unsigned)device[k]);
				return false;
			}
		if (permute && p[p[k].recv_peer].send_peer != k) {
			diag_error(h->c->d, E_MISMATCH, ir_op(h->c->m, p[k].op)->at,
			           "rank %u receives from rank %u, which sends to another",
			           (unsigned)device[k], (unsigned)device[p[k].recv_peer]);
			return false;
		}
	}
	return true;
}

/* Finds out if a member holds all elements of its operand. */
static bool holds_all(struct ref_host *h, const struct ref_view *v, bool *out)
{
	struct ref_elements e;
	struct ref_array shape;
	if (!ref_view_elements(h, v, DIAG_NOWHERE, &e))
		return false;
	bool ok = ref_array_of_type(h->c, &shape, v->type, DIAG_NOWHERE);
	*out = ok && e.n == ref_array_count(&shape);
	ref_elements_free(&e);
	if (ok)
		ref_array_free(&shape);
	return ok;
}

/* Returns the members that give something to a member: first … last. In reductions all are reduced. */
static void givers(const struct exchange *x, unsigned member, unsigned *first, unsigned *last)
{
	const struct ref_party *p = &x->event->party[member];
	*first = 0, *last = x->n - 1;
	switch (x->kind) {
	case OP_BROADCASTS:
	case OP_SCATTER:
	case OP_SEND_RECV:
		*first = *last = (unsigned)p->root;
		break;
	case OP_COLLECTIVE_PERMUTE:
		*first = *last = (unsigned)p->recv_peer;
		break;
	default:
		break;
	}
}

static bool receives(const struct exchange *x, unsigned member)
{
	const struct ref_party *p = &x->event->party[member];
	if (!p->out)
		return false;
	switch (x->kind) {
	case OP_GATHER:
	case OP_REDUCE:
		return (int64_t)member == p->root;
	case OP_SEND_RECV:
		return (int64_t)member != p->root || x->n == 1;
	default:
		return true;
	}
}

/* Returns true if a member is in the mesh of the value it would give. */
static bool has_operand(const struct exchange *x, unsigned member)
{
	const struct ref_view *in = x->event->party[member].in;
	return in && ref_mesh_has(x->h->c->m, ir_type(x->h->c->m, in->type)->mesh,
	                          x->event->channel->device[member]);
}

/* out[i] = the reduction of in[k][start + i] for all members k. */
static void reduce_members(const struct exchange *x, enum reduce_op op, int64_t start, struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	for (int64_t i = 0; i < count; i++) {
		struct ref_fold s;
		uint8_t state = REF_DEFINED;
		ref_fold_start(&s, op, out->dtype);
		s.steps = ref_steps(x->h->c, op, out->dtype, x->n);
		for (unsigned k = 0; k < x->n; k++) {
			if (!x->in[k].data || !has_operand(x, k))
				continue; /* a root that gives nothing */
			uint8_t own =
			    start + i < ref_array_count(&x->in[k]) ? x->in[k].state[start + i] : REF_ABSENT;
			state = own < state ? own : state;
			if (state == REF_DEFINED)
				ref_fold_add(&s, &x->in[k], start + i, k);
		}
		if (state == REF_DEFINED)
			ref_fold_end(&s, out, i, out->dtype);
		out->state[i] = state;
	}
}

/* Takes each element, found by its index, from the first giver that holds it. */
static void take_by_type(const struct exchange *x, unsigned first, unsigned last, struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	for (unsigned k = first; k <= last; k++)
		for (int64_t i = 0; i < count && x->in[k].data; i++)
			if (out->state[i] == REF_ABSENT)
				ref_copy(out, i, &x->in[k], i);
}

/* Counts the elements that members before this one receive. */
static bool received_before(const struct exchange *x, unsigned member, int64_t *out)
{
	*out = 0;
	for (unsigned k = 0; k < member; k++) {
		struct ref_elements e;
		if (!x->event->party[k].out)
			continue;
		if (!ref_view_elements(x->h, x->event->party[k].out, at_of(x, k), &e))
			return false;
		*out += e.n;
		ref_elements_free(&e);
	}
	return true;
}

/* Takes elements of each giver by their place in memory, one giver after the other. */
static bool take_by_count(const struct exchange *x, unsigned member, unsigned first, unsigned last,
                          struct ref_array *out)
{
	int64_t count = ref_array_count(out), to = 0, start = 0;
	if (x->kind == OP_SCATTER && !received_before(x, member, &start))
		return false;
	for (unsigned k = first; k <= last; k++) {
		int64_t n = ref_array_count(&x->in[k]);
		if (x->kind == OP_ALL_TO_ALL) {
			n /= x->n;
			start = n * member;
		} else if (x->kind == OP_SCATTER) {
			n = n < start + count ? n - start : count;
		}
		for (int64_t i = 0; i < n; i++, to++)
			if (to < count)
				ref_copy(out, to, &x->in[k], start + i);
	}
	if (to != count) {
		diag_error(x->h->c->d, E_MISMATCH, at_of(x, member),
		           "rank %u receives %lld elements where %lld are sent to it",
		           (unsigned)x->event->channel->device[member], (long long)count, (long long)to);
		return false;
	}
	return true;
}

static bool receive_output(const struct exchange *x, unsigned member, struct ref_array *out)
{
	const struct ref_view *v = x->event->party[member].out;
	struct ref_elements e = {0};
	uint32_t at = at_of(x, member);
	unsigned first, last;
	int64_t start = 0;
	bool ok;
	if (x->flat) {
		ok = ref_view_elements(x->h, v, at, &e) &&
		     ref_array_make(x->h->c, out, ir_type(x->h->c->m, v->type)->dtype, 1, &e.n, at);
		ref_elements_free(&e);
	} else {
		ok = ref_array_of_type(x->h->c, out, v->type, at);
	}
	if (!ok)
		return false;
	givers(x, member, &first, &last);
	if (op_info[x->kind].traits & TRAIT_REDUCES) {
		if (x->flat && x->kind == OP_REDUCE_SCATTER && !received_before(x, member, &start))
			return false;
		reduce_members(x, ref_reduce_op(x->h->c->m, x->event->party[member].op), start, out);
		return true;
	}
	if (x->flat)
		return take_by_count(x, member, first, last, out);
	take_by_type(x, first, last, out);
	return true;
}

static bool store_output(const struct exchange *x, unsigned member, const struct ref_array *out)
{
	int64_t absent;
	if (!ref_view_store(x->h, x->event->party[member].out, x->flat, out, at_of(x, member), &absent))
		return false;
	if (absent) {
		diag_error(x->h->c->d, E_MISMATCH, at_of(x, member),
		           "%s: %lld elements that rank %u is to receive are held by no rank that sends them",
		           op_info[x->kind].hir, (long long)absent,
		           (unsigned)x->event->channel->device[member]);
		return false;
	}
	return true;
}

/* Finds out if elements are matched by place instead of by index. */
static bool is_flat(struct ref_host *h, const struct ref_event *e, bool *out)
{
	op_id from = 0, to = 0;
	enum op_kind kind = (enum op_kind)ir_op(h->c->m, e->party[0].op)->kind;
	for (unsigned k = 0; k < e->channel->n; k++) {
		from = from || !e->party[k].in ? from : e->party[k].op;
		to = to || !e->party[k].out ? to : e->party[k].op;
	}
	*out = !from || !to || !ir_keeps_index(h->c->m, from, to);
	if (*out || kind != OP_ALL_TO_ALL || e->channel->n == 1)
		return true;
	*out = true; /* if each member holds all elements, types do not tell which block of an all-to-all
	                goes to which member */
	for (unsigned k = 0; k < e->channel->n && *out; k++)
		if ((e->party[k].in && !holds_all(h, e->party[k].in, out)) ||
		    (*out && e->party[k].out && !holds_all(h, e->party[k].out, out)))
			return false;
	return true;
}

static bool complete_collective(struct ref_host *h, struct ref_event *e)
{
	struct exchange x = {.h = h,
	                     .event = e,
	                     .n = e->channel->n,
	                     .kind = (enum op_kind)ir_op(h->c->m, e->party[0].op)->kind};
	struct ref_array *out = mem_zalloc(sizeof *out * x.n);
	x.in = mem_zalloc(sizeof *x.in * x.n);
	bool ok = check_parties(h, e) && is_flat(h, e, &x.flat);
	for (unsigned k = 0; k < x.n && ok; k++)
		ok = !e->party[k].in || ref_view_load(h, e->party[k].in, x.flat, at_of(&x, k), &x.in[k]);
	for (unsigned k = 0; k < x.n && ok; k++)
		ok = !receives(&x, k) || receive_output(&x, k, &out[k]);
	for (unsigned k = 0; k < x.n && ok; k++)
		ok = !receives(&x, k) || store_output(&x, k, &out[k]);
	for (unsigned k = 0; k < x.n; k++) {
		ref_array_free(&x.in[k]);
		ref_array_free(&out[k]);
	}
	free(x.in);
	free(out);
	return ok;
}

/* Returns true if both ends of a message have equally many elements of one dtype; otherwise reports it. */
static bool message_fits(struct ref_host *h, const struct ref_event *e)
{
	const struct ref_party *send = &e->party[0], *recv = &e->party[1];
	const enum dtype given = ir_type(h->c->m, send->in->type)->dtype,
	                 taken = ir_type(h->c->m, recv->out->type)->dtype;
	const uint32_t at = ir_op(h->c->m, recv->op)->at;
	struct ref_elements data, place;
	if (!ref_view_elements(h, send->in, at, &data))
		return false;
	if (!ref_view_elements(h, recv->out, at, &place)) {
		ref_elements_free(&data);
		return false;
	}
	bool fits = data.n == place.n && given == taken;
	if (!fits) {
		diag_error(h->c->d, E_MISMATCH, at, "rank %u receives %lld of %s, rank %u sends %lld of %s",
		           (unsigned)e->channel->device[1], (long long)place.n, dtype_name(taken),
		           (unsigned)e->channel->device[0], (long long)data.n, dtype_name(given));
		diag_note(h->c->d, ir_op(h->c->m, send->op)->at, "the send stands here");
	}
	ref_elements_free(&data);
	ref_elements_free(&place);
	return fits;
}

/* Moves a message's elements by their index or by their place in memory. */
static bool complete_message(struct ref_host *h, struct ref_event *e)
{
	const struct ref_party *send = &e->party[0], *recv = &e->party[1];
	const bool flat = !ir_keeps_index(h->c->m, send->op, recv->op);
	const uint32_t at = ir_op(h->c->m, recv->op)->at;
	struct ref_array data;
	int64_t absent = 0;
	if (!message_fits(h, e) || !ref_view_load(h, send->in, flat, at, &data))
		return false;
	bool ok = ref_view_store(h, recv->out, flat, &data, at, &absent);
	ref_array_free(&data);
	if (ok && absent) {
		diag_error(
		    h->c->d, E_MISMATCH, at, "rank %u receives %lld elements that rank %u does not send",
		    (unsigned)e->channel->device[1], (long long)absent, (unsigned)e->channel->device[0]);
		diag_note(
		    h->c->d, ir_op(h->c->m, send->op)->at,
		    "the send stands here; between tensors of equal extents an element keeps its index");
	}
	return ok && !absent;
}

bool ref_comm_run(struct ref_host *h, struct ref_event *e)
{
	return e->channel->kind == REF_P2P ? complete_message(h, e) : complete_collective(h, e);
}
