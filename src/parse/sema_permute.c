/* sema_permute: finds which axis of the operand each axis of a permute's result is (ir/permuted.h).
 *
 * The axes are read where they stand, unless nvFuser may have moved parallel axes to the front of the loop domain: then
 * a warning shows both orders. */
#include "ir/number.h"
#include "ir/permuted.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

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
			permuted_rank(p, order, dims);
			if (!permuted_is_identity(dims, p->n) && memcmp(dims, p->fitting, p->n) != 0)
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
	bool identity = permuted_is_identity(p->fitting, p->n);
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

/* from: the tensor of which a view makes it; 0: a permute does. */
static void mark_tensor(struct nv_tensor *t, name_id from)
{
	if (t && from)
		t->reshaped = from;
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
	ast_id operand = ast_at(a, call)->first;
	name_id name = ast_at(a, target)->name, from = view ? name : 0;
	if (view && nv_is(r, operand, AST_TENSOR))
		from = ast_at(a, operand)->name;
	mark_tensor(nv_find_tensor(r, name), from);
	if (name < r->tensor_of.n && r->tensor_of.at[name]) /* posted to the unit that is being read */
		mark_tensor(&r->tensor.at[r->tensor_of.at[name] - 1], from);
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
	unsigned found = 0;
	if (x->rank == d->rank) {
		find_numbers(r, result, d, p.number);
		found = permuted_find(s->m, &p, x, d, &r->numbers);
	}
	bool shown = found;
	for (unsigned i = 0; i < p.n; i++)
		shown &= p.number[i] >= 0;
	if (shown && !check_front(r, call, result, &p))
		return false;
	if (found != 1) {
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
