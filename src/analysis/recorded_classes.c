/* recorded_classes: see recorded_classes.h. */
#include "analysis/recorded_classes.h"
#include "ir/build.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

static const char *kind_of(const struct module *m, op_id op)
{
	const struct attr *a = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "kind") : NULL;
	return a && a->kind == ATTR_NAME ? names_text(m->names, a->u.name) : NULL;
}

/* Finds what a statement communicates. Returns false if it does not. */
static bool find_what(const struct module *m, op_id op, enum recorded_what *out)
{
	const char *kind = kind_of(m, op);
	enum op_kind collective = kind ? op_by_hir(kind) : OP_NONE;
	if (!kind)
		return false;
	*out = !strcmp(kind, "send")   ? RECORDED_SEND
	       : !strcmp(kind, "recv") ? RECORDED_RECV
	                               : RECORDED_COLLECTIVE;
	return *out != RECORDED_COLLECTIVE || !strcmp(kind, "barrier") ||
	       (collective != OP_NONE && op_info[collective].traits & TRAIT_COLLECTIVE);
}

/* Returns true if a statement may be the program of a class: a condition without else. */
static bool is_class(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_IF && !m->region.at[m->op.at[op].region].sibling;
}

bool recorded_has_classes(const struct module *m)
{
	enum recorded_what what;
	bool found = false;
	region_each (m, branch, m->body) {
		if (!is_class(m, branch))
			return false;
		region_each (m, op, m->op.at[branch].region)
			found |= find_what(m, op, &what);
	}
	return found;
}

/* ---- finding */

static int64_t bytes_of(const struct module *m, op_id op)
{
	const struct attr *stated = op_attr(m, op, "in_bytes");
	int64_t bytes = 0;
	if (stated && stated->kind == ATTR_INT)
		return stated->u.i;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		const struct type *t = value_type(m, op_read(m, op, k));
		const struct domain *d = ir_domain(m, t->domain);
		int64_t n = dtype_bytes(t->dtype), extent;
		for (unsigned i = 0; i < d->rank; i++)
			n *= expr_is_const(m, d->axis[i].extent, &extent) ? extent : 1;
		bytes += n;
	}
	return bytes;
}

static bool is_alike(const struct recorded_comm *a, const struct recorded_comm *b)
{
	return a->what == b->what &&
	       (a->what == RECORDED_COLLECTIVE ? a->group == b->group : a->peer == b->peer);
}

/* Counts the communications before c that meet in the same place. */
static uint32_t count_before(const struct recorded *r, const struct recorded_class *x,
                             const struct recorded_comm *c)
{
	for (uint32_t k = r->comm.n; k > x->comm; k--)
		if (is_alike(&r->comm.at[k - 1], c))
			return r->comm.at[k - 1].nth + 1;
	return 0;
}

static void add_comm(struct recorded *r, const struct recorded_class *x, op_id op, enum recorded_what what)
{
	const struct attr *peer = op_attr(r->m, op, "peer");
	struct recorded_comm c = {.op = op,
	                          .what = what,
	                          .kind = op_attr(r->m, op, "kind")->u.name,
	                          .group = what == RECORDED_COLLECTIVE ? op_group(r->m, op) : 0,
	                          .bytes = bytes_of(r->m, op),
	                          .peer = peer && peer->kind == ATTR_INT ? peer->u.i : -1};
	c.nth = count_before(r, x, &c);
	r->comm_of[op] = r->comm.n;
	vec_push(&r->comm, c);
}

static void find_ranks(struct recorded *r, uint32_t class)
{
	struct recorded_class *x = &r->class.at[class];
	expr_id condition = op_scalar_expr(r->m, x->branch, 0);
	for (int64_t rank = 0; rank < r->ranks; rank++) {
		const struct expr_env env = {.rank = rank};
		int64_t runs = 0;
		if (expr_eval(r->m, condition, &env, &runs, NULL) != EXPR_OK || !runs)
			continue;
		r->class_of[rank] = class;
		x->first = x->first < 0 ? rank : x->first;
	}
}

void recorded_find(struct module *m, int64_t ranks, struct arena *arena, struct recorded *out)
{
	*out = (struct recorded){.m = m, .ranks = ranks};
	out->class_of = arena_new_array(arena, uint32_t, ranks);
	out->comm_of = arena_new_array(arena, uint32_t, m->op.n);
	memset(out->class_of, 0xff, sizeof *out->class_of * (size_t)ranks);
	memset(out->comm_of, 0xff, sizeof *out->comm_of * m->op.n);
	region_each (m, branch, m->body) {
		enum recorded_what what;
		struct recorded_class x = {
		    .branch = branch, .body = m->op.at[branch].region, .first = -1, .comm = out->comm.n};
		region_each (m, op, x.body)
			if (find_what(m, op, &what))
				add_comm(out, &x, op, what);
		x.comm_n = out->comm.n - x.comm;
		vec_push(&out->class, x);
		find_ranks(out, out->class.n - 1);
	}
}

void recorded_free(struct recorded *r)
{
	vec_free(&r->class);
	vec_free(&r->comm);
}

/* ---- asking */

int64_t recorded_peer(const struct recorded *r, const struct recorded_comm *c, int64_t rank)
{
	int64_t peer = c->peer < 0 ? -1 : c->peer + rank - r->class.at[r->class_of[rank]].first;
	return peer < r->ranks ? peer : -1;
}

uint32_t recorded_members(const struct recorded *r, group_id group, const uint32_t **device)
{
	const struct group *g = &r->m->group.at[group];
	*device = g->members ? ir_team(r->m, g->members)->device : NULL;
	if (!group || (!g->members && g->size != r->ranks))
		return 0;
	return g->members ? ir_team(r->m, g->members)->device_n : g->size;
}

bool recorded_is_member(const struct recorded *r, group_id group, int64_t rank)
{
	const uint32_t *device;
	uint32_t n = recorded_members(r, group, &device);
	if (!device)
		return rank < (int64_t)n;
	for (uint32_t k = 0; k < n; k++)
		if (device[k] == rank)
			return true;
	return false;
}

uint32_t recorded_waits_for(const struct recorded *r, op_id op)
{
	const struct module *m = r->m;
	const char *kind = kind_of(m, op);
	if (r->comm_of[op] != RECORDED_NONE) {
		bool receives = kind && !strcmp(kind, "recv") && !op_attr(m, op, "group");
		return receives || (kind && !strcmp(kind, "barrier")) ? r->comm_of[op] : RECORDED_NONE;
	}
	bool waits = m->op.at[op].kind == OP_WAIT || (kind && !strcmp(kind, "wait"));
	while (op && waits && r->comm_of[op] == RECORDED_NONE) {
		value_id v = op_read(m, op, 0);
		op = v ? m->value.at[v].def : 0;
		kind = op ? kind_of(m, op) : NULL;
		waits = op && (r->comm_of[op] != RECORDED_NONE || m->op.at[op].kind == OP_UNPACK ||
		               (kind && !strcmp(kind, "wait")));
	}
	return op && waits ? r->comm_of[op] : RECORDED_NONE;
}

uint32_t recorded_collective(const struct recorded *r, uint32_t class, group_id group, uint32_t n)
{
	const struct recorded_class *x = &r->class.at[class];
	for (uint32_t k = x->comm; k < x->comm + x->comm_n; k++)
		if (r->comm.at[k].what == RECORDED_COLLECTIVE && r->comm.at[k].group == group &&
		    r->comm.at[k].nth == n)
			return k;
	return RECORDED_NONE;
}

uint32_t recorded_message(const struct recorded *r, int64_t rank, enum recorded_what what, int64_t peer,
                          uint32_t n)
{
	const struct recorded_class *x = &r->class.at[r->class_of[rank]];
	for (uint32_t k = x->comm; k < x->comm + x->comm_n; k++)
		if (r->comm.at[k].what == what && r->comm.at[k].nth == n &&
		    recorded_peer(r, &r->comm.at[k], rank) == peer)
			return k;
	return RECORDED_NONE;
}

/* ---- meeting */

/* Returns true if a class has a member of the group of a collective. */
static bool takes_part(const struct recorded *r, uint32_t class, group_id group)
{
	for (int64_t rank = 0; rank < r->ranks; rank++)
		if (r->class_of[rank] == class && recorded_is_member(r, group, rank))
			return true;
	return false;
}

/* Returns the send of another class that a receive on the first rank of its class gets; RECORDED_NONE: none. */
static uint32_t find_send(const struct recorded *r, const struct recorded_comm *c, uint32_t class)
{
	int64_t rank = r->class.at[class].first, peer = recorded_peer(r, c, rank);
	if (c->what != RECORDED_RECV || peer < 0 || r->class_of[peer] == class ||
	    r->class_of[peer] == RECORDED_NONE)
		return RECORDED_NONE;
	return recorded_message(r, peer, RECORDED_SEND, rank, c->nth);
}

/* Returns the first of the collectives that meet collective k of a class. member: by class and group. */
static uint32_t find_first(const struct recorded *r, const bool *member, uint32_t k, uint32_t class)
{
	const struct recorded_comm *c = &r->comm.at[k];
	size_t groups = r->m->group.n;
	for (uint32_t other = 0; member[class * groups + c->group] && other < class; other++) {
		uint32_t there = member[other * groups + c->group]
		                     ? recorded_collective(r, other, c->group, c->nth)
		                     : RECORDED_NONE;
		if (there != RECORDED_NONE)
			return there;
	}
	return k;
}

struct recorded_meeting *recorded_meetings(const struct recorded *r, struct arena *arena)
{
	size_t groups = r->m->group.n;
	struct recorded_meeting *out = arena_new_array(arena, struct recorded_meeting, r->comm.n);
	bool *member = arena_new_array(arena, bool, r->class.n *groups);
	for (uint32_t c = 0; c < r->class.n; c++)
		for (group_id g = 1; g < groups; g++)
			member[c * groups + g] = takes_part(r, c, g);
	for (uint32_t c = 0; c < r->class.n; c++) {
		const struct recorded_class *x = &r->class.at[c];
		for (uint32_t k = x->comm; k < x->comm + x->comm_n; k++) {
			bool collective = r->comm.at[k].what == RECORDED_COLLECTIVE;
			out[k] = (struct recorded_meeting){collective ? find_first(r, member, k, c) : k,
			                                   find_send(r, &r->comm.at[k], c)};
		}
	}
	return out;
}
