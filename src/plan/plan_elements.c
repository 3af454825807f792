/* plan_elements: lists elements, and copies between lists.
 *
 *     X: f32[12@block(3)@x], x = 2        rank 0 has 0 1, 4 5, 8 9
 *     Y: f32[12@x]                        rank 0 needs 0 … 5: it keeps 0 1, 4 5
 *
 * The places of the elements are joined into a few strided copies: first runs with one step, then equal
 * runs at equal distances, and so on. */
#include "plan/plan_elements.h"
#include "plan/data_map.h"
#include <string.h>

enum { MAX_COPIES = 1 << 16 }; /* most copies of a statement on a rank */

bool elements_of(struct planner *b, const struct view *v, int64_t rank, int64_t *room, struct elements *e)
{
	struct data_map map;
	struct data_cursor c = {0};
	struct data_batch batch;
	*e = (struct elements){0};
	if (!data_map_make(b->m, v->type, rank, &map) || map.count > *room) {
		data_map_free(&map);
		planner_error(
		    b, E_PLAN_LIMIT,
		    "'%s' is too large for a layout that is not one interval a rank (limit %d elements)",
		    value_text(b, v->value), MAX_ELEMENTS);
		return false;
	}
	*room -= map.count;
	e->linear = arena_alloc(b->scratch, sizeof *e->linear * (size_t)(map.count + 1));
	e->offset = arena_alloc(b->scratch, sizeof *e->offset * (size_t)(map.count + 1));
	e->per_axis = map.group_n == map.rank;
	for (unsigned a = 0; a < map.rank && e->per_axis; a++)
		e->count[a] = map.group[a].n;
	while (map.count && data_map_next(&map, &c, DATA_BATCH, &batch))
		for (unsigned k = 0; k < batch.n; k++) {
			e->hash = (e->hash ^ (uint64_t)batch.linear[k]) * 0x100000001b3u + 1;
			e->linear[e->n] = batch.linear[k];
			e->offset[e->n++] = batch.offset[k];
		}
	data_map_free(&map);
	return true;
}

bool elements_whole(const struct planner *b, const struct view *v)
{
	op_id def = b->m->value.at[v->value].def;
	bool whole = !def || !(op_traits(b->m, def) & TRAIT_VIEW);
	for (unsigned a = 0; a < v->rank; a++)
		for (unsigned k = 0; k < VIEW_MAX_STEPS; k++)
			whole = whole && !v->axis[a].bound[k];
	return whole;
}

/* ---- strided copies */

static bool is_same_shape(const struct element_piece *a, const struct element_piece *b)
{
	return a->nd == b->nd && !memcmp(a->n, b->n, sizeof *a->n * a->nd) &&
	       !memcmp(a->from_step, b->from_step, sizeof *a->n * a->nd) &&
	       !memcmp(a->to_step, b->to_step, sizeof *a->n * a->nd);
}

/* Joins neighbours of the same form at equal distances into one piece. Returns the number of pieces
 * left. */
static int64_t merge_pieces(struct element_piece *p, int64_t n)
{
	int64_t left = 0;
	for (int64_t i = 0; i < n;) {
		struct element_piece x = p[i];
		int64_t k = i + 1;
		if (k < n && is_same_shape(&x, &p[k]) && x.nd < RT_MAX_DIMS) {
			int64_t from = p[k].from - x.from, to = p[k].to - x.to;
			while (k < n && is_same_shape(&x, &p[k]) && p[k].from - p[k - 1].from == from &&
			       p[k].to - p[k - 1].to == to)
				k++;
			x.n[x.nd] = k - i, x.from_step[x.nd] = from, x.to_step[x.nd++] = to;
		}
		p[left++] = x;
		i = k;
	}
	return left;
}

static struct plan_view view_of_piece(struct planner *b, const struct element_piece *p, const struct view *v,
                                      bool from)
{
	struct plan_view w = {.buffer = v->buffer, .nd = (uint8_t)p->nd};
	w.slot = sx_reg(b, v->slot);
	w.offset = sx_reg(b, sx_const(b, from ? p->from : p->to));
	for (unsigned k = 0; k < p->nd; k++) {
		w.n[p->nd - 1 - k] = sx_reg(b, sx_const(b, p->n[k]));
		w.stride[p->nd - 1 - k] = from ? p->from_step[k] : p->to_step[k];
	}
	return w;
}

bool elements_copy(struct planner *b, struct element_piece *p, int64_t n, const struct view *from,
                   const struct view *to, op_id after)
{
	for (int64_t before = n + 1; n < before;) {
		before = n;
		n = merge_pieces(p, n);
	}
	if (n > MAX_COPIES) {
		planner_error(b, E_PLAN_LIMIT,
		              "the layouts of '%s' and '%s' are cut into more than %d pieces",
		              value_text(b, from->value), value_text(b, to->value), MAX_COPIES);
		return false;
	}
	for (int64_t k = 0; k < n; k++) {
		struct plan_view x = view_of_piece(b, &p[k], from, true),
		                 y = view_of_piece(b, &p[k], to, false);
		if (after)
			plan_copy_after(b, after, &y, &x);
		else
			plan_copy_now(b, &y, &x);
	}
	return true;
}

int64_t elements_common(const struct elements *have, const struct elements *need, struct element_piece *p)
{
	int64_t n = 0;
	for (int64_t i = 0, k = 0; i < have->n && k < need->n;) {
		if (have->linear[i] != need->linear[k]) {
			if (have->linear[i] < need->linear[k])
				i++;
			else
				k++;
			continue;
		}
		p[n++] = (struct element_piece){.from = have->offset[i++], .to = need->offset[k++]};
	}
	return n;
}

bool elements_set(struct planner *b, const struct view *from, const struct view *to)
{
	int64_t room = MAX_ELEMENTS;
	struct elements in, out;
	if (!elements_of(b, from, b->p->rank, &room, &in) || !elements_of(b, to, b->p->rank, &room, &out))
		return false;
	struct element_piece *p = arena_alloc(b->scratch, sizeof *p * (size_t)(out.n + 1));
	int64_t n = elements_common(&in, &out, p);
	if (n < out.n) {
		planner_error(b, E_ELEMENTS_ABSENT, "rank %lld does not hold all of '%s' that '%s' needs",
		              (long long)b->p->rank, value_text(b, from->value), value_text(b, to->value));
		return false;
	}
	return elements_copy(b, p, n, from, to, 0);
}
