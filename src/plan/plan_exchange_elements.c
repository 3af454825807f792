/* plan_exchange_elements: plans exchanges element by element, for parts that are several intervals.
 *
 *     X: f32[12@block(3)@x], x = 2        rank 0 has 0 1, 4 5, 8 9
 *     Y: f32[12@x]                        rank 0 needs 0 … 5: it keeps 0 1, 4 5 and takes 2 3 */
#include "plan/plan_elements.h"
#include "plan/plan_exchange.h"

static struct elements *read_side(struct exchange *x, const struct view *v, int64_t *room)
{
	struct elements *e = arena_alloc(x->b->scratch, sizeof *e * x->team->n);
	for (uint32_t k = 0; k < x->team->n; k++)
		if (!elements_of(x->b, v, x->team->rank[k], room, &e[k]))
			return NULL;
	return e;
}

static bool gives(const struct exchange *x, const uint32_t *class, uint32_t from, uint32_t to)
{
	if ((x->giver >= 0 && from != x->giver) || (x->taker >= 0 && to != x->taker))
		return false;
	return from == to || x->giver >= 0 ||
	       (class[to] != class[from] && exchange_turn(class, x->team->n, from, to) == from);
}

/* Packs all parts that this member gives into a buffer, or unpacks those that it takes. */
static bool pack_parts(struct exchange *x, const struct elements *in, const struct elements *out,
                       const uint32_t *class, bool give, struct element_piece *p)
{
	struct planner *b = x->b;
	struct view *v = give ? x->in : x->out, buffer = *v;
	plan_reg *counts = give ? x->send_counts : x->counts, *offsets = give ? x->send_offsets : x->offsets;
	int64_t most = give ? in[x->own].n * x->team->n : out[x->own].n, place = 0;
	buffer.buffer = exchange_buffer(x, most, &buffer.slot);
	for (uint32_t k = 0; k < x->team->n; k++) {
		uint32_t from = give ? x->own : k, to = give ? k : x->own;
		if (k == x->own || !gives(x, class, from, to))
			continue;
		int64_t n = elements_common(&in[from], &out[to], p);
		for (int64_t i = 0; i < n; i++)
			*(give ? &p[i].to : &p[i].from) = place + i;
		counts[k] = sx_reg(b, sx_const(b, n));
		offsets[k] = sx_reg(b, sx_const(b, place));
		place += n;
		if (!elements_copy(b, p, n, give ? v : &buffer, give ? &buffer : v, give ? 0 : x->op))
			return false;
	}
	*(give ? &x->c->in : &x->c->out) = exchange_base(x, buffer.buffer, buffer.slot);
	return true;
}

bool exchange_elements(struct exchange *x)
{
	struct planner *b = x->b;
	if (!elements_whole(b, x->in) || !elements_whole(b, x->out)) {
		planner_error(
		    b, E_PLAN_LAYOUT,
		    "layouts of '%s' and '%s' that are not one interval a rank, in a loop: not executed yet",
		    value_text(b, x->in->value), value_text(b, x->out->value));
		return false;
	}
	int64_t room = MAX_ELEMENTS;
	struct elements *in = read_side(x, x->in, &room), *out = in ? read_side(x, x->out, &room) : NULL;
	if (!out)
		return false;
	uint32_t n = x->team->n, *class = arena_alloc(b->scratch, sizeof *class * n);
	for (uint32_t k = 0; k < n; k++) {
		class[k] = k;
		for (uint32_t j = 0; j < k; j++)
			if (in[j].n == in[k].n && in[j].hash == in[k].hash) {
				class[k] = class[j];
				break;
			}
	}
	int64_t longest = in[x->own].n > out[x->own].n ? in[x->own].n : out[x->own].n;
	struct element_piece *p = arena_alloc(b->scratch, sizeof *p * (size_t)(longest + 1));
	if (gives(x, class, x->own, x->own) && in[x->own].n && out[x->own].n &&
	    !elements_copy(b, p, elements_common(&in[x->own], &out[x->own], p), x->in, x->out, 0))
		return false;
	return (x->in->absent || pack_parts(x, in, out, class, true, p)) &&
	       (x->out->absent || pack_parts(x, in, out, class, false, p));
}
