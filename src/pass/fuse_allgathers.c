/* fuse-allgathers: joins a chain of collectives of one kind into one over the product of their mesh
 * axes.
 *
 *     input W: f32[64@y@x, 32]                   input W: f32[64@y@x, 32]
 *     A: f32[64@y, 32] = set(W)                  W1: f32[64, 32] = set(W)
 *     P = permute(A, (1, 0))                 →
 *     Q = permute(P, (1, 0))
 *     W1: f32[64, 32] = set(Q)
 *
 * It joins allgathers, reduce-scatters (their mirror image) and allreduces. A link of the chain is a
 * `set` or pure collective that becomes one such Communication. Between two links there may be only
 * permutes, reshapes and copies that compose to the identity and whose results have no other use. The
 * layouts at both ends determine if one collective can do the whole change, and the order of its team
 * (reshard.h): a chain that can be joined removes placements, innermost first.
 *
 * The idea is that of `fuse_chained_allgathers` of PyTorch's autoparallel (pull request 472), which looks for
 * descending mesh axes that multiply to the whole mesh. Layouts ask for neither.
 *
 * requires sharded, decomposed establishes nothing keeps layouts and values, except for those between
 * the links, which are removed */
#include "pass/decompose.h"
#include "pass/moves.h"
#include "pass/pass.h"
#include "pass/reshard.h"
#include "pass/rewrite.h"
#include "pass/views.h"

/* Returns true if a change of layout only removes mesh axes; the other placements keep their order. */
static bool only_gathers(struct module *m, type_id from, type_id to)
{
	struct sugar o, q;
	bool less = false;
	if (m->type.at[from].mesh != m->type.at[to].mesh ||
	    !sugar_from_domain(m, m->type.at[from].domain, m->type.at[from].mesh, &o) ||
	    !sugar_from_domain(m, m->type.at[to].domain, m->type.at[to].mesh, &q) || place_partial(&o))
		return false;
	for (unsigned a = 0; a < o.rank; a++) {
		unsigned k = 0;
		for (unsigned i = 0; i < q.axis[a].place_n; i++) {
			const struct sugar_place *p = &q.axis[a].place[i];
			if (p->kind != SUGAR_MESH && p->kind != SUGAR_BLOCK)
				return false;
			while (p->kind == SUGAR_MESH && k < o.axis[a].place_n &&
			       !place_equal(&o.axis[a].place[k], p))
				k++;
			if (p->kind == SUGAR_MESH && k++ == o.axis[a].place_n)
				return false;
		}
		less |= place_mesh_axes(&o.axis[a]) != place_mesh_axes(&q.axis[a]);
	}
	return less;
}

/* Returns the kind of collective that a statement is; RESHARD_NONE: none that can be joined. A gather
 * that leaves blocks counts as well: n@y@x → n@block(y)@x, and that → n. */
static enum reshard_kind link_kind(struct module *m, op_id op)
{
	struct reshard r;
	unsigned kind = m->op.at[op].kind;
	if ((kind != OP_SET && !(op_info[kind].traits & TRAIT_COLLECTIVE)) || m->op.at[op].flags & OP_ASYNC ||
	    m->op.at[op].def_n != 1 || op_role_count(m, op, ROLE_READ) != 1)
		return RESHARD_NONE;
	type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_def(m, op, 0)].type;
	reshard_classify(m, from, to, &r);
	if (r.kind == RESHARD_ALL_TO_ALLV && only_gathers(m, from, to))
		return RESHARD_ALLGATHER;
	return r.kind != RESHARD_ALL_TO_ALL && move_name(r.kind) ? r.kind : RESHARD_NONE;
}

/* ---- two links and the statements between */

enum { BETWEEN_MAX = 32 };

struct pair {
	op_id first, last;
	op_id between[BETWEEN_MAX]; /* from the last to the first */
	unsigned n;
	const char *reason; /* reason why they are not joined; NULL: none */
	value_id offending; /* the value that the reason is about; 0: none */
};

static bool has_other_use(const struct module *m, value_id v)
{
	unsigned reads = 0;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		reads += m->operand.at[u].role != ROLE_DEF;
	return reads > 1 || m->value.at[v].flags & (VALUE_OUTPUT | VALUE_INPUT | VALUE_INOUT);
}

static void stay(struct pair *p, const char *reason, value_id offending)
{
	if (!p->reason)
		p->reason = reason, p->offending = offending;
}

/* Finds the link of this kind from which the operand of the last one comes. Returns false if there is
 * none. */
static bool find_first(struct module *m, enum reshard_kind kind, op_id last, struct pair *p)
{
	*p = (struct pair){.last = last};
	for (op_id op = last; p->n < BETWEEN_MAX;) {
		value_id v = op_read(m, op, 0);
		op_id def = m->value.at[v].def;
		if (!def || m->op.at[def].parent != m->op.at[last].parent)
			return false;
		bool is_link = link_kind(m, def) == kind, is_cast = m->op.at[def].kind == OP_CAST;
		if (!is_link && !is_cast && !view_moves_elements(m, def))
			return false;
		if (has_other_use(m, v))
			stay(p, "has another use", v);
		if (is_cast)
			stay(p, "has another dtype", v);
		if (is_link) {
			p->first = def;
			return true;
		}
		p->between[p->n++] = op = def;
	}
	return false;
}

static void remark_fusion(struct module *m, struct pass_context *cx, const struct pair *p,
                          enum reshard_kind kind)
{
	struct buf name = {0}, text = {0};
	if (!cx->remarks)
		return;
	pass_put_name(m, op_def(m, p->last, 0), &name);
	if (!p->reason) {
		buf_printf(&text, "%s by one %s: two were chained", name.at, move_name(kind));
	} else {
		buf_printf(&text, "%s not fused: ", name.at);
		if (p->offending) {
			buf_puts(&text, "intermediate ");
			pass_put_name(m, p->offending, &text);
			buf_putc(&text, ' ');
		}
		buf_puts(&text, p->reason);
	}
	pass_remark(cx, m, m->op.at[p->last].at, "%s", text.at);
	buf_free(&name);
	buf_free(&text);
}

/* Makes one set, from the operand of the first link to the result of the last. */
static void fuse(struct module *m, const struct pair *p)
{
	value_id from = op_read(m, p->first, 0), to = op_def(m, p->last, 0);
	move_set(m, p->last, to, from);
	for (unsigned k = 0; k < p->n; k++)
		ir_remove(m, p->between[k]);
	ir_remove(m, p->first);
}

/* Joins a statement with the link before it. Returns false if they cannot be joined. */
static bool fuse_with_previous(struct module *m, struct pass_context *cx, op_id last)
{
	enum reshard_kind kind = link_kind(m, last);
	struct reshard whole;
	struct pair p;
	if (kind == RESHARD_NONE || !find_first(m, kind, last, &p))
		return false;
	reshard_classify(m, m->value.at[op_read(m, p.first, 0)].type, m->value.at[op_def(m, last, 0)].type,
	                 &whole);
	if (move_is_foreign(m, last) || move_is_foreign(m, p.first))
		stay(&p, "a group is no slice of the mesh", 0);
	if (!views_are_identity(m, p.between, p.n))
		stay(&p, "the statements between are no identity", 0);
	if (whole.kind != kind)
		stay(&p, whole.reason ? whole.reason : "the whole is another change of layout", 0);
	if (!p.reason && !pass_may_change(cx, m, m->op.at[last].at, "one %s of two", move_name(kind)))
		return false;
	remark_fusion(m, cx, &p, kind);
	if (p.reason)
		return false;
	fuse(m, &p);
	return true;
}

bool pass_fuse_allgathers(struct module *m, struct pass_context *cx)
{
	struct rewrite_reduce reduce;
	rewrite_reduce_begin(m, &reduce);
	for (op_id op = ir_walk_first(m), next; op; op = next) {
		bool fused = fuse_with_previous(m, cx, op);
		next = ir_walk(m, op);
		if (fused)
			decompose_transfer(m, cx, op);
	}
	rewrite_reduce_end(m, &reduce);
	return true;
}
