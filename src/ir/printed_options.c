/* printed_options: see the header.
 *
 * The ids are looked at from the largest number down, since the last split made the largest numbers. Each id is a
 * logical axis, or a half; the other half is the id before it, or an axis that was put together before and whose
 * number, the one after or before it, stands nowhere. */
#include "ir/printed_options.h"
#include "ir/expr.h"
#include "ir/printed_reading.h"
#include <string.h>

/* An axis that has been put together of ids. */
struct whole {
	unsigned end;   /* the id that it ends in */
	unsigned top;   /* its half that was split off first */
	int32_t least;  /* the smallest number of its halves */
	expr_id extent; /* 0: not known */
	bool is_half;   /* it is half of a larger one */
};

struct reader {
	struct printed_options *c;
	struct module *m;
	const struct printed_tensor *t;
	uint32_t tensor;
	uint8_t by_number[PRINTED_COVER_IDS]; /* ids, the largest number first */
	struct whole whole[PRINTED_COVER_IDS];
	unsigned whole_n;
	struct printed_choice choice;       /* the option so far */
	bool taken[PRINTED_COVER_IDS];      /* the id is in an axis of several */
	int32_t between[PRINTED_COVER_IDS]; /* numbers of halves that were split again */
	unsigned between_n;
};

/* Returns the index of a missing number, or -1. */
static int find_missing(const struct printed_options *c, int32_t number)
{
	uint32_t low = 0, high = c->missing.n;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (c->missing.at[mid] < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low < c->missing.n && c->missing.at[low] == number ? (int)low : -1;
}

static void add_option(struct reader *d, const int32_t *parent, unsigned parent_n, int32_t base)
{
	struct printed_options *c = d->c;
	struct printed_option o = {
	    .tensor = d->tensor, .used_at = c->used.n, .base = base, .choice = d->choice};
	for (unsigned i = 0; i < parent_n + d->between_n; i++) {
		int at = find_missing(c, i < parent_n ? parent[i] : d->between[i - parent_n]);
		for (uint32_t k = o.used_at; k < c->used.n; k++)
			if ((int)c->used.at[k] == at)
				at = -1;
		if (at < 0) { /* it stands in the listing, or is used twice */
			c->used.n = o.used_at;
			return;
		}
		vec_push(&c->used, (uint32_t)at);
		o.used_n++;
	}
	o.choice.stated = true;
	vec_push(&c->option, o);
}

/* Returns the axis of several ids that ends in an id. NULL: the id is in none. */
static const struct whole *ends_whole(const struct reader *d, unsigned id)
{
	for (unsigned i = 0; i < d->whole_n; i++)
		if (!d->whole[i].is_half && d->whole[i].end == id)
			return &d->whole[i];
	return NULL;
}

/* Returns true if the axes that end in plain ids stand in order. Only parallel axes are moved. */
static bool has_plain_axes_in_order(const struct reader *d)
{
	int32_t last = -1;
	for (unsigned i = 0; i < d->t->id_n; i++) {
		if ((d->taken[i] && !ends_whole(d, i)) || d->t->id[i].axis.place != PLACE_NONE)
			continue;
		if (d->choice.logical[i] < last)
			return false;
		last = d->choice.logical[i];
	}
	return true;
}

/* Adds the option in which the first logical axis has a number, if that is possible. */
static void try_base(struct reader *d, int32_t base, unsigned rank)
{
	int32_t parent[PRINTED_COVER_IDS];
	unsigned n = 0, at = 0;
	bool is_own[PRINTED_COVER_IDS] = {false}; /* by place in the row */
	for (unsigned i = 0; i < d->t->id_n; i++)
		if (!d->taken[i]) {
			int32_t place = d->t->id[i].number - base;
			if (place < 0 || place >= (int32_t)rank)
				return;
			is_own[place] = true;
			d->choice.logical[i] = d->t->id[i].number;
		}
	for (unsigned i = 0; i < d->t->id_n; i++) {
		const struct whole *x = ends_whole(d, i);
		if (!x)
			continue;
		while (at < rank && is_own[at])
			at++;
		if (at == rank || base + (int32_t)at >= x->least)
			return;
		parent[n++] = base + (int32_t)at;
		d->choice.logical[i] = base + (int32_t)at++;
	}
	if (!d->c->in_order || has_plain_axes_in_order(d))
		add_option(d, parent, n, base);
}

static void try_bases(struct reader *d)
{
	unsigned rank = 0;
	int32_t least = -1;
	for (unsigned i = 0; i < d->t->id_n; i++) {
		rank += !d->taken[i] || ends_whole(d, i);
		if (!d->taken[i] && (least < 0 || d->t->id[i].number < least))
			least = d->t->id[i].number;
	}
	if (!rank) {
		add_option(d, NULL, 0, -1);
	} else if (least >= 0) {
		for (int32_t base = least - (int32_t)rank + 1; base <= least; base++)
			if (base >= 0)
				try_base(d, base, rank);
	} else {
		for (uint32_t i = 0; i < d->c->missing.n; i++)
			try_base(d, d->c->missing.at[i], rank);
	}
}

/* Returns true if one extent is a ceilDiv by the other. */
static bool is_quotient(const struct module *m, expr_id x, expr_id y)
{
	const struct expr *e = &m->expr.at[x], *f = &m->expr.at[y];
	return (e->kind == EXPR_CEIL_DIV && e->b == y) || (f->kind == EXPR_CEIL_DIV && f->b == x);
}

/* Returns true if extents can be those of the halves of a split. *certain: they say so. */
static bool fits(const struct module *m, expr_id x, expr_id y, bool *certain)
{
	*certain = is_quotient(m, x, y);
	return *certain || (expr_is_const(m, x, NULL) && expr_is_const(m, y, NULL));
}

static bool is_parallel(const struct printed_id *x)
{
	return x->axis.place != PLACE_NONE;
}

static bool can_be_half(const struct printed_id *x)
{
	return !x->named && (x->axis.kind == AXIS_ITER || x->axis.kind == AXIS_REDUCE);
}

static void try_id(struct reader *d, unsigned k);

/* Puts a half and the axis that ends in id `end` together, and goes on. */
static void try_whole(struct reader *d, unsigned k, unsigned half, unsigned top, struct whole new,
                      bool is_inner)
{
	d->choice.half_of[top] = (int8_t)half;
	d->choice.is_inner[half] = is_inner;
	d->taken[half] = true;
	d->whole[d->whole_n++] = new;
	try_id(d, k + 1);
	d->whole_n--;
	d->taken[half] = false;
	d->choice.is_inner[half] = false;
	d->choice.half_of[top] = -1;
}

/* Makes the id, which has the k-th number, and the id with the number before the halves of an axis. Returns true if the
 * extents say that they are. */
static bool try_pair(struct reader *d, unsigned k)
{
	if (k + 1 >= d->t->id_n)
		return false;
	unsigned inner = d->by_number[k], outer = d->by_number[k + 1];
	const struct printed_id *x = &d->t->id[outer], *y = &d->t->id[inner];
	bool certain;
	if (x->number + 1 != y->number || !can_be_half(x) || !can_be_half(y) ||
	    x->axis.kind != y->axis.kind || is_parallel(x) == is_parallel(y) ||
	    (is_parallel(y) && !d->c->inner) || !fits(d->m, x->axis.extent, y->axis.extent, &certain))
		return false;
	unsigned end = is_parallel(y) ? outer : inner, half = is_parallel(y) ? inner : outer;
	d->taken[end] = true;
	try_whole(d, k, half, end,
	          (struct whole){.end = end,
	                         .top = half,
	                         .least = x->number,
	                         .extent = printed_split_extent(d->m, x->axis.extent, y->axis.extent)},
	          half == inner);
	d->taken[end] = false;
	return certain;
}

/* Makes the id the outer half of a split, after a Swizzle1D. Returns true if the extents say that it is. */
static bool try_swizzle(struct reader *d, unsigned k)
{
	unsigned id = d->by_number[k];
	int32_t number = d->t->id[id].number - 2; /* of the outer half before the swizzle */
	bool certain;
	int end = printed_reading_swizzled(d->m, d->t, id, &certain);
	if (end < 0 || d->taken[end] || find_missing(d->c, number) < 0)
		return false;
	d->taken[end] = d->choice.swizzled[id] = true;
	d->between[d->between_n++] = number;
	try_whole(d, k, id, (unsigned)end,
	          (struct whole){.end = (unsigned)end,
	                         .top = id,
	                         .least = number,
	                         .extent = printed_split_extent(d->m, d->t->id[id].axis.extent,
	                                                        d->t->id[end].axis.extent)},
	          false);
	d->between_n--;
	d->taken[end] = d->choice.swizzled[id] = false;
	return certain;
}

/* Makes the id a half of an axis of which the other half was split again and is whole[i]. Returns true if the extents say
 * that it is. */
static bool try_with_whole(struct reader *d, unsigned k, unsigned i, bool is_inner)
{
	unsigned id = d->by_number[k];
	const struct printed_id *x = &d->t->id[id];
	struct whole w = d->whole[i];
	int32_t number = x->number + (is_inner ? -1 : 1); /* of the other half */
	expr_id outer = is_inner ? w.extent : x->axis.extent, inner = is_inner ? x->axis.extent : w.extent;
	bool certain;
	if (w.is_half || d->t->id[w.end].axis.kind != x->axis.kind || number >= w.least ||
	    find_missing(d->c, number) < 0 || !fits(d->m, outer, inner, &certain) ||
	    ((is_inner || !is_parallel(x)) && !d->c->inner && !certain))
		return false;
	d->whole[i].is_half = true;
	d->between[d->between_n++] = number;
	try_whole(d, k, id, w.top,
	          (struct whole){.end = w.end,
	                         .top = id,
	                         .least = number < x->number ? number : x->number,
	                         .extent = printed_split_extent(d->m, outer, inner)},
	          is_inner);
	d->between_n--;
	d->whole[i].is_half = false;
	return certain;
}

/* Makes the id a half of each axis that was put together before. Returns true if the extents say that it is. */
static bool try_with_wholes(struct reader *d, unsigned k)
{
	bool certain = false;
	if (can_be_half(&d->t->id[d->by_number[k]]))
		for (unsigned i = 0; i < d->whole_n; i++)
			for (int is_inner = 0; is_inner < 2; is_inner++)
				certain |= try_with_whole(d, k, i, is_inner);
	return certain;
}

/* Reads the id that has the k-th number, and those with smaller ones, in all ways. */
static void try_id(struct reader *d, unsigned k)
{
	if (d->c->option.n > PRINTED_MAX_OPTIONS)
		return;
	if (k == d->t->id_n) {
		try_bases(d);
		return;
	}
	unsigned id = d->by_number[k];
	if (d->taken[id]) {
		try_id(d, k + 1);
		return;
	}
	if (!try_pair(d, k) && !try_swizzle(d, k) && !try_with_wholes(d, k))
		try_id(d, k + 1);
}

bool printed_options_apply(const struct printed_tensor *t)
{
	for (unsigned i = 0; i < t->id_n; i++) {
		const struct printed_id *x = &t->id[i];
		if (x->made || x->axis.rf || x->axis.kind == AXIS_PARTIAL || x->number < 0)
			return false;
	}
	return t->id_n <= PRINTED_COVER_IDS && !t->permuted;
}

bool printed_options_list(struct printed_options *c, const struct printed_tensor *t, uint32_t tensor)
{
	struct reader d = {.c = c, .m = c->m, .t = t, .tensor = tensor};
	if (!printed_options_apply(t))
		return false;
	memset(d.choice.half_of, -1, sizeof d.choice.half_of);
	for (unsigned i = 0; i < PRINTED_COVER_IDS; i++)
		d.choice.logical[i] = INT32_MAX; /* behind all others */
	for (unsigned i = 0; i < t->id_n; i++) {
		const struct printed_id *x = &t->id[i];
		unsigned at = i;
		for (; at > 0 && t->id[d.by_number[at - 1]].number < x->number; at--)
			d.by_number[at] = d.by_number[at - 1];
		d.by_number[at] = (uint8_t)i;
	}
	uint32_t before = c->option.n;
	try_id(&d, 0);
	return c->option.n > before && c->option.n <= PRINTED_MAX_OPTIONS;
}
