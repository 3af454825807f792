/* sema_permute: finds which axis of the operand each axis of a permute's result is.
 *
 *     T1_g_float[iS5{4}, iS3{2}, iS4{3}] = Set.Permute( T0_g_float[iS0{2}, iS1{3}, iS2{4}] )     dims=(2, 0, 1)
 *
 * nvFuser numbers the axes of the result in the order of the operand's, and then prints them in their own. A split hides
 * the number of its axis; then the numbers are in a row, and the hidden one stands nowhere in the listing. If that leaves
 * several orders, an axis keeps its devices.
 *
 *     T1_g_float[ideviceIdx.x4{2}, iS3{2}, iS5{5}]     dims=(1, 0, 2), or (0, 2, 1) if x4 was moved to the front
 *
 * The axes are read where they stand, unless nvFuser may have moved parallel axes to the front of the loop domain: then
 * a warning shows both orders. */
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/number.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

enum { MOST_TRIED = 8, BEYOND_ALL = INT32_MAX - IR_MAX_AXES };

/* The axes of a permute's result. A split takes the number of its axis out of sight: -1. */
struct permuted {
	unsigned n;
	int32_t number[IR_MAX_AXES];
	uint8_t dims[IR_MAX_AXES];
	bool strict; /* an axis also keeps its devices, and its extent if that is a scalar */
	int8_t device
	    [2]
	    [IR_MAX_MESH_AXES]; /* by mesh axis: the axis of operand and result that is spread over it, or -1 */
	unsigned found;         /* orders that fit */
	uint8_t fitting[IR_MAX_AXES];
};

static bool is_identity(const uint8_t *dims, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (dims[i] != i)
			return false;
	return true;
}

static void find_devices(const struct domain *d, int8_t *axis)
{
	memset(axis, -1, IR_MAX_MESH_AXES);
	for (unsigned l = 0; l < d->loop_n; l++)
		if (d->axis[d->loop[l]].place == PLACE_MESH)
			axis[d->axis[d->loop[l]].mesh_axis] = (int8_t)layout_logical_of(d, d->loop[l]);
}

/* Returns true if axis i of the operand can be axis k of the result. */
static bool can_be(const struct module *m, const struct permuted *p, const struct domain *from,
                   const struct domain *to, unsigned i, unsigned k)
{
	expr_id x = from->axis[i].extent, y = to->axis[k].extent;
	int64_t a, b;
	bool constant = expr_is_const(m, x, &a), other = expr_is_const(m, y, &b);
	if (constant && other ? a != b : p->strict && !constant && !other && x != y)
		return false;
	for (unsigned d = 0; p->strict && d < IR_MAX_MESH_AXES; d++) {
		int8_t of = p->device[0][d], is = p->device[1][d];
		if (of >= 0 && is >= 0 && (of == (int)i) != (is == (int)k))
			return false;
	}
	return true;
}

/* Tries all orders of the axes from k on. nvFuser numbers the axes in the order of the operand's, in a row that begins
 * with `base`. */
static void try_orders(struct nv_reader *r, struct permuted *p, const struct domain *from,
                       const struct domain *to, int32_t base, unsigned k, unsigned taken)
{
	if (k == p->n && is_identity(p->dims, p->n))
		return; /* nvFuser prints no permute that moves nothing */
	if (k == p->n) {
		p->found += !p->found || memcmp(p->fitting, p->dims, p->n) != 0;
		memcpy(p->fitting, p->dims, p->n);
		return;
	}
	for (unsigned i = 0; i < p->n; i++) {
		bool hidden = p->number[k] < 0;
		if (taken >> i & 1 ||
		    (hidden ? printed_numbers_has(&r->numbers, base + (int32_t)i)
		            : p->number[k] != base + (int32_t)i) ||
		    !can_be(r->s->m, p, from, to, i, k))
			continue;
		p->dims[k] = (uint8_t)i;
		try_orders(r, p, from, to, base, k + 1, taken | 1u << i);
	}
}

/* Makes dims of all numbers of the result. Numbers with gaps are in order, too. */
static void rank_numbers(const struct permuted *p, const uint8_t *order, uint8_t *dims)
{
	for (unsigned i = 0; i < p->n; i++) {
		dims[i] = 0;
		for (unsigned k = 0; k < p->n; k++)
			dims[i] += p->number[order[k]] < p->number[order[i]];
	}
}

/* ---- parallel axes in front */

static bool is_parallel(const struct nv_reader *r, ast_id id)
{
	const char *head = ast_text(r->s->a, id);
	return head[0] && (head[1] != 'S' || !strncmp(head + 1, "Stream", 6));
}

/* Finds signs in a tensor that parallel axes are moved to the front, or stay where they are. */
static void find_signs(struct nv_reader *r, const struct nv_tensor *t, bool *moved, bool *stays)
{
	const struct ast *a = r->s->a;
	ast_id plain = 0; /* the first axis that is not parallel */
	ast_id list = ast_child(a, shape_tensor(r->s->a, t->node), 0);
	ast_each (a, id, list) {
		if (!is_parallel(r, id))
			plain = plain ? plain : id;
		else if (plain)
			*stays = true;
	}
	if (t->permuted || t->block || !plain)
		return;
	ast_each (a, id, list) {
		int64_t n = ast_at(a, id)->value.i, first = ast_at(a, plain)->value.i;
		if (id == plain)
			return;
		*moved |= first < n && n != first + 1;
	}
}

/* Returns true if parallel axes of the listing stand in the loop domain as in the logical domain. */
static bool axes_stay(struct nv_reader *r)
{
	bool moved = false, stays = false;
	for (uint32_t i = 0; i < r->tensor.n; i++)
		find_signs(r, &r->tensor.at[i], &moved, &stays);
	return stays && !moved;
}

/* Finds another order of the axes that moves something, if one of the first `front` was moved there. */
static bool find_other_order(const struct permuted *p, unsigned front, uint8_t *order, uint8_t *dims)
{
	for (unsigned from = front; from-- > 0;)
		for (unsigned to = from + 1; to < p->n; to++) {
			for (unsigned i = 0, k = 0; i < p->n; i++)
				if (i == to)
					order[i] = (uint8_t)from;
				else
					order[i] = (uint8_t)(k += k == from, k++);
			rank_numbers(p, order, dims);
			if (!is_identity(dims, p->n) && memcmp(dims, p->fitting, p->n) != 0)
				return true;
		}
	return false;
}

static void put_dims(const uint8_t *dims, unsigned n, struct buf *out)
{
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, "%s%u", i ? ", " : "(", dims[i]);
	buf_puts(out, ")");
}

static void put_axes(struct nv_reader *r, const struct nv_tensor *t, const uint8_t *order, unsigned n,
                     struct buf *out)
{
	const struct ast *a = r->s->a;
	for (unsigned i = 0; i < n; i++) {
		const struct ast_node *id = ast_at(a, ast_child(a, ast_child(a, t->node, 0), order[i]));
		buf_printf(out, "%s%.*s", i ? ", " : "(", (int)(id->end - id->at), a->source->text + id->at);
	}
	buf_puts(out, ")");
}

/* Checks an order that was read from the places of the axes: nvFuser prints no permute that moves nothing, and an axis
 * in front may have been moved there. */
static bool check_front(struct nv_reader *r, ast_id call, const struct nv_tensor *t, const struct permuted *p)
{
	struct sema *s = r->s;
	const struct domain *d = ir_domain(s->m, s->m->type.at[t->type].domain);
	uint8_t order[IR_MAX_AXES], dims[IR_MAX_AXES], own[IR_MAX_AXES];
	unsigned front = 0;
	while (front < p->n && d->axis[front].place != PLACE_NONE)
		front++;
	bool identity = is_identity(p->fitting, p->n);
	if (t->block || !t->permuted || !front || (!identity && axes_stay(r)) ||
	    !find_other_order(p, front, order, dims))
		return true;
	struct buf here = {0}, other = {0}, here_axes = {0}, other_axes = {0};
	for (unsigned i = 0; i < p->n; i++)
		own[i] = (uint8_t)i;
	put_dims(p->fitting, p->n, &here);
	put_dims(dims, p->n, &other);
	put_axes(r, t, own, p->n, &here_axes);
	put_axes(r, t, order, p->n, &other_axes);
	uint32_t at = ast_at(s->a, call)->at;
	if (identity) {
		diag_error(s->d, E_PRINTED_TYPE, at,
		           "the numbers of %s's axes are in order, but Set.Permute changes the order",
		           ast_text(s->a, t->node));
		diag_note(s->d, DIAG_NOWHERE,
		          "if a parallel axis was moved to the front, write the logical domain of %s in a "
		          "TransformPrinter section, for dims=%s: `logical domain: %s`",
		          ast_text(s->a, t->node), other.at, other_axes.at);
	} else {
		diag_warning(s->d, W_PRINTED_AXES, at,
		             "this permute is read with dims=%s; if a parallel axis of %s was moved to the "
		             "front, it may also be %s",
		             here.at, ast_text(s->a, t->node), other.at);
		diag_note(s->d, DIAG_NOWHERE,
		          "a TransformPrinter section with the logical domain of %s tells: `logical domain: "
		          "%s` for dims=%s, `logical domain: %s` for dims=%s",
		          ast_text(s->a, t->node), here_axes.at, here.at, other_axes.at, other.at);
	}
	buf_free(&here);
	buf_free(&other);
	buf_free(&here_axes);
	buf_free(&other_axes);
	return !identity;
}

static void mark_tensor(struct nv_tensor *t, bool view)
{
	if (t && view)
		t->reshaped = true;
	else if (t)
		t->permuted = true;
}

void nv_permute_collect(struct nv_reader *r, ast_id targets, ast_id call)
{
	const struct ast *a = r->s->a;
	ast_id target = ast_at(a, targets)->first;
	if (!target || ast_at(a, target)->kind != AST_TENSOR || !nv_is(r, call, AST_CALL))
		return;
	bool view = !strcmp(ast_text(a, call), "view");
	if (!view && (strcmp(ast_text(a, call), "Set.Permute") != 0 || nv_key(r, call, "dims")))
		return;
	name_id name = ast_at(a, target)->name;
	mark_tensor(nv_find_tensor(r, name), view);
	if (name < r->tensor_of.n && r->tensor_of.at[name]) /* posted to the unit that is being read */
		mark_tensor(&r->tensor.at[r->tensor_of.at[name] - 1], view);
}

/* Finds the numbers of the logical axes. A tensor in a unit's lists has the type of the tensor that is posted for it, and
 * its own numbers. */
static void find_numbers(const struct nv_reader *r, const struct nv_tensor *t, const struct domain *d,
                         int32_t *number)
{
	const struct ast *a = r->s->a;
	for (unsigned i = 0; i < d->rank; i++) {
		uint32_t at = t->number_at + i;
		number[i] = !t->formal && at < r->number.n ? r->number.at[at] : -1;
		number[i] = number[i] < 0 ? -1 : number[i] & ~NUMBER_BROADCAST;
	}
	ast_id id = t->formal ? ast_at(a, ast_child(a, t->node, 0))->first : 0;
	for (unsigned l = 0; l < d->loop_n && id; l++, id = ast_at(a, id)->next)
		if (d->loop[l] < d->rank)
			number[d->loop[l]] = (int32_t)ast_at(a, id)->value.i;
}

bool nv_permute(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	struct sema *s = r->s;
	struct permuted p = {0};
	if (nv_key(r, call, "dims"))
		return true;
	value_id from = nv_operand(r, ast_at(s->a, call)->first);
	if (!from)
		return false;
	const struct domain *x = value_domain(s->m, from),
	                    *d = ir_domain(s->m, s->m->type.at[result->type].domain);
	p.n = d->rank;
	bool plain = x->rank == d->rank;
	if (plain)
		find_numbers(r, result, d, p.number);
	for (unsigned i = 0; i < p.n; i++)
		p.dims[i] = (uint8_t)i;
	bool any_hidden = false;
	int32_t least = INT32_MAX, most = -1;
	for (unsigned i = 0; i < p.n && plain; i++) {
		any_hidden |= p.number[i] < 0;
		least = p.number[i] >= 0 && p.number[i] < least ? p.number[i] : least;
		most = p.number[i] > most ? p.number[i] : most;
	}
	if (plain && !any_hidden) {
		rank_numbers(&p, p.dims, p.fitting);
		p.found = 1;
		if (!check_front(r, call, result, &p))
			return false;
	} else if (plain && p.n <= MOST_TRIED) {
		/* if all numbers are hidden, they can be any that stand nowhere */
		int32_t first = most < 0 ? BEYOND_ALL : most - (int32_t)p.n + 1,
		        last = most < 0 ? BEYOND_ALL : least;
		find_devices(x, p.device[0]);
		find_devices(d, p.device[1]);
		for (unsigned strict = 2; strict-- > 0 && !p.found;) {
			p.strict = strict;
			for (int32_t base = first; base <= last; base++)
				if (base >= 0)
					try_orders(r, &p, x, d, base, 0, 0);
		}
	}
	if (p.found != 1) {
		diag_error(
		    s->d, E_PRINTED_TYPE, ast_at(s->a, call)->at,
		    "the numbers of the result's axes do not tell which axis of the operand each one is");
		diag_note(s->d, DIAG_NOWHERE, "say it with dims=: `Set.Permute( T0…, dims=(1, 0) )`");
		return false;
	}
	ast_id dims = nv_node(r, AST_TUPLE, call, NULL);
	for (unsigned i = 0; i < p.n; i++)
		nv_node_append(r, dims, nv_node_int(r, call, p.fitting[i]));
	nv_node_key(r, call, "dims", dims);
	return true;
}
