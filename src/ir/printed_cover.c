/* printed_cover: see the header.
 *
 * Each tensor has a list of options: which of its parallel ids are halves, and which number its first logical axis has.
 * An option uses some of the missing numbers. The search looks for one option a tensor so that each missing number is
 * used once. A tensor that was made later has larger numbers.
 *
 * A parallel id is the outer half of most splits. Only if no solution has none but these, ids are tried as inner halves,
 * too: T0[ideviceIdx.x2{2}, iS1{6}] without 0 is axis 0, split into 1 and 2. */
#include "ir/printed_cover.h"
#include "base/vec.h"
#include "ir/expr.h"
#include <string.h>

enum {
	MAX_NUMBER = 8192,  /* of an axis */
	MAX_OPTIONS = 4096, /* of all tensors */
	MAX_HALVES = 5,     /* parallel ids of a tensor that can be halves */
	MAX_STEPS = 100,    /* of the search */
};

struct option {
	uint32_t tensor;
	uint32_t used_at; /* index into used */
	uint8_t used_n;
	int32_t base; /* the number of its first logical axis; -1: it has none */
	struct printed_choice choice;
};

struct cover {
	const struct module *m;
	const struct printed_numbers *numbers;
	VEC(int32_t) missing;
	VEC(struct option) option;
	VEC(uint32_t) used; /* missing numbers, as indices into missing */
	uint32_t *first;    /* by tensor: its first option; one more than tensors */
	unsigned tensor_n;
	bool inner; /* a parallel id may be the inner half of a split */
	unsigned steps, found;
	uint32_t *chosen; /* by tensor: the option of the solution that was found */
};

static void list_missing(struct cover *c)
{
	const struct printed_numbers *n = c->numbers;
	for (uint32_t i = 0; i < n->used.n; i++)
		for (int32_t k = i ? n->used.at[i - 1] + 1 : 0; k < n->used.at[i]; k++)
			vec_push(&c->missing, k);
}

/* Returns the index of a missing number, or -1. */
static int find_missing(const struct cover *c, int32_t number)
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

/* ---- options of a tensor */

struct reader {
	struct cover *c;
	const struct printed_tensor *t;
	uint32_t tensor;
	unsigned half[MAX_HALVES], half_n; /* ids that can be halves */
	struct printed_choice choice;      /* the option so far */
	bool is_outer[PRINTED_COVER_IDS];
	int32_t between[MAX_HALVES]; /* inner halves that were split again */
	unsigned between_n;
};

static bool is_parallel(const struct printed_id *x)
{
	return x->axis.place != PLACE_NONE && (x->axis.kind == AXIS_ITER || x->axis.kind == AXIS_REDUCE);
}

static int find_id(const struct printed_tensor *t, int32_t number)
{
	for (unsigned i = 0; i < t->id_n; i++)
		if (t->id[i].number == number)
			return (int)i;
	return -1;
}

/* Returns true if the extents say that an id is the inner half of a split. */
static bool is_certain_half(const struct reader *d, unsigned inner, unsigned outer)
{
	const struct expr *e = &d->c->m->expr.at[d->t->id[inner].axis.extent];
	return e->kind == EXPR_CEIL_DIV && e->b == d->t->id[outer].axis.extent;
}

static void add_option(struct reader *d, const int32_t *parent, unsigned parent_n, int32_t base)
{
	struct cover *c = d->c;
	struct option o = {.tensor = d->tensor, .used_at = c->used.n, .base = base, .choice = d->choice};
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

/* Returns the smallest number among the halves of the axis that ends in id i. */
static int32_t first_half(const struct reader *d, unsigned i)
{
	int32_t number = d->t->id[i].number;
	for (int o = d->choice.outer_of[i]; o >= 0; o = d->choice.outer_of[o])
		number = d->t->id[o].number;
	return number;
}

/* Adds the option in which the first logical axis has a number, if that is possible. */
static void try_base(struct reader *d, int32_t base, unsigned rank)
{
	int32_t parent[PRINTED_COVER_IDS];
	unsigned n = 0;
	bool taken[PRINTED_COVER_IDS] = {false};
	for (unsigned i = 0; i < d->t->id_n; i++)
		if (!d->is_outer[i] && d->choice.outer_of[i] < 0) {
			int32_t at = d->t->id[i].number - base;
			if (at < 0 || at >= (int32_t)rank)
				return;
			taken[at] = true;
			d->choice.logical[i] = d->t->id[i].number;
		}
	unsigned at = 0;
	for (unsigned i = 0; i < d->t->id_n; i++) {
		if (d->choice.outer_of[i] < 0 || d->is_outer[i])
			continue;
		while (at < rank && taken[at])
			at++;
		if (at == rank || base + (int32_t)at >= first_half(d, i))
			return;
		parent[n++] = base + (int32_t)at;
		d->choice.logical[i] = base + (int32_t)at++;
	}
	add_option(d, parent, n, base);
}

static void try_bases(struct reader *d)
{
	unsigned rank = 0;
	int32_t least = -1;
	for (unsigned i = 0; i < d->t->id_n; i++) {
		rank += !d->is_outer[i];
		if (!d->is_outer[i] && d->choice.outer_of[i] < 0 && (least < 0 || d->t->id[i].number < least))
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

static void try_halves(struct reader *d, unsigned k);

/* Makes half[k] the inner half of the axis that has the number before. */
static void try_inner_half(struct reader *d, unsigned k)
{
	unsigned id = d->half[k];
	const struct printed_id *x = &d->t->id[id];
	int outer = find_id(d->t, x->number - 1);
	if (outer < 0 || d->is_outer[outer] || d->choice.outer_of[outer] >= 0 || d->t->id[outer].named ||
	    d->t->id[outer].axis.place != PLACE_NONE || d->t->id[outer].axis.kind != x->axis.kind ||
	    x->axis.kind != AXIS_ITER)
		return;
	d->choice.outer_of[id] = (int8_t)outer;
	d->is_outer[outer] = true;
	try_halves(d, k + 1);
	d->choice.outer_of[id] = -1;
	d->is_outer[outer] = false;
}

/* Makes the ids half[k], …, the largest numbers first, halves or none, in all ways. */
static void try_halves(struct reader *d, unsigned k)
{
	if (d->c->option.n > MAX_OPTIONS)
		return;
	if (k >= d->half_n || k >= MAX_HALVES) {
		try_bases(d);
		return;
	}
	unsigned id = d->half[k];
	const struct printed_id *x = &d->t->id[id];
	int inner = find_id(d->t, x->number + 1);
	bool pair = inner >= 0 && d->t->id[inner].axis.place == PLACE_NONE &&
	            d->t->id[inner].axis.kind == x->axis.kind && !d->t->id[inner].named &&
	            d->choice.outer_of[inner] < 0;
	if (pair) {
		d->choice.outer_of[inner] = (int8_t)id;
		d->is_outer[id] = true;
		try_halves(d, k + 1);
		d->choice.outer_of[inner] = -1;
		d->is_outer[id] = false;
	}
	if (!pair || !is_certain_half(d, (unsigned)inner, id))
		try_halves(d, k + 1);
	if (d->c->inner)
		try_inner_half(d, k);
	if (inner >= 0 || find_missing(d->c, x->number + 1) < 0)
		return;
	for (unsigned h = 0; h < k; h++) { /* its inner half was split again: into one of the halves before */
		unsigned next = d->half[h];
		if (!d->is_outer[next] || d->choice.outer_of[next] >= 0 ||
		    d->t->id[next].number <= x->number + 1 || d->t->id[next].axis.kind != x->axis.kind)
			continue;
		d->choice.outer_of[next] = (int8_t)id;
		d->is_outer[id] = true;
		d->between[d->between_n++] = x->number + 1;
		try_halves(d, k + 1);
		d->between_n--;
		d->choice.outer_of[next] = -1;
		d->is_outer[id] = false;
	}
}

/* Lists the options of a tensor. Returns false if it has none, or too many. */
static bool list_options(struct cover *c, const struct printed_tensor *t, uint32_t tensor)
{
	struct reader d = {.c = c, .t = t, .tensor = tensor};
	if (t->id_n > PRINTED_COVER_IDS || t->permuted)
		return false;
	memset(d.choice.outer_of, -1, sizeof d.choice.outer_of);
	for (unsigned i = 0; i < t->id_n; i++) {
		const struct printed_id *x = &t->id[i];
		if (x->made || x->axis.rf || x->axis.kind == AXIS_PARTIAL || x->number < 0)
			return false;
		if (!is_parallel(x) || x->named || !expr_is_const(c->m, x->axis.extent, NULL))
			continue;
		if (d.half_n == MAX_HALVES)
			return false;
		unsigned at = d.half_n++;
		for (; at > 0 && t->id[d.half[at - 1]].number < x->number; at--)
			d.half[at] = d.half[at - 1];
		d.half[at] = i;
	}
	uint32_t before = c->option.n;
	try_halves(&d, 0);
	return c->option.n > before && c->option.n <= MAX_OPTIONS;
}

/* ---- search */

struct state {
	uint8_t *alive; /* by option */
	uint8_t *used;  /* by missing number */
	uint8_t *done;  /* by tensor */
};

static struct state state_copy(const struct cover *c, const struct state *of)
{
	struct state s = {mem_zalloc(c->option.n + 1), mem_zalloc(c->missing.n + 1),
	                  mem_zalloc(c->tensor_n + 1)};
	if (of) {
		memcpy(s.alive, of->alive, c->option.n);
		memcpy(s.used, of->used, c->missing.n);
		memcpy(s.done, of->done, c->tensor_n);
	} else {
		memset(s.alive, 1, c->option.n);
	}
	return s;
}

static void state_free(struct state *s)
{
	free(s->alive);
	free(s->used);
	free(s->done);
}

static bool is_possible(const struct cover *c, const struct state *s, const struct option *o)
{
	for (uint32_t k = 0; k < o->used_n; k++)
		if (s->used[c->used.at[o->used_at + k]])
			return false;
	return true;
}

static void choose(const struct cover *c, struct state *s, uint32_t option)
{
	const struct option *o = &c->option.at[option];
	for (uint32_t k = c->first[o->tensor]; k < c->first[o->tensor + 1]; k++)
		s->alive[k] = k == option;
	for (uint32_t k = 0; k < o->used_n; k++)
		s->used[c->used.at[o->used_at + k]] = 1;
	s->done[o->tensor] = 1;
	for (uint32_t k = 0; o->base >= 0 && k < c->option.n; k++) {
		const struct option *x = &c->option.at[k];
		if (x->base >= 0 && x->tensor != o->tensor && (x->tensor < o->tensor) != (x->base < o->base))
			s->alive[k] = 0;
	}
}

/* Chooses what has one option left. Returns false if something has none. *fewest: the tensor that has the fewest, the
 * number of tensors if all are done. */
static bool choose_certain(const struct cover *c, struct state *s, uint32_t *fewest)
{
	for (bool again = true; again;) {
		uint32_t least = UINT32_MAX;
		again = false;
		*fewest = c->tensor_n;
		for (uint32_t t = 0; t < c->tensor_n; t++) {
			uint32_t left = 0, last = 0;
			for (uint32_t k = c->first[t]; k < c->first[t + 1] && !s->done[t]; k++) {
				s->alive[k] = s->alive[k] && is_possible(c, s, &c->option.at[k]);
				left += s->alive[k];
				last = s->alive[k] ? k : last;
			}
			if (s->done[t])
				continue;
			if (!left)
				return false;
			if (left == 1) {
				choose(c, s, last);
				again = true;
			} else if (left < least) {
				least = left;
				*fewest = t;
			}
		}
	}
	return true;
}

/* Returns true if each missing number that is not used can still be. */
static bool can_cover(const struct cover *c, const struct state *s)
{
	uint8_t *can = mem_zalloc(c->missing.n + 1);
	bool all = true;
	for (uint32_t k = 0; k < c->option.n; k++)
		for (uint32_t i = 0; s->alive[k] && i < c->option.at[k].used_n; i++)
			can[c->used.at[c->option.at[k].used_at + i]] = 1;
	for (uint32_t i = 0; i < c->missing.n && all; i++)
		all = can[i];
	free(can);
	return all;
}

static void search(struct cover *c, struct state *s)
{
	uint32_t tensor;
	if (c->found > 1 || c->steps++ > MAX_STEPS || !choose_certain(c, s, &tensor) || !can_cover(c, s))
		return;
	if (tensor == c->tensor_n) {
		c->found++;
		for (uint32_t k = 0; k < c->option.n; k++)
			if (s->alive[k])
				c->chosen[c->option.at[k].tensor] = k;
		return;
	}
	for (uint32_t k = c->first[tensor]; k < c->first[tensor + 1]; k++) {
		if (!s->alive[k])
			continue;
		struct state next = state_copy(c, s);
		choose(c, &next, k);
		search(c, &next);
		state_free(&next);
	}
}

/* Finds the one solution, if c->found becomes 1. Returns false if a tensor has no option, or the search is too long. */
static bool find_cover(struct cover *c, const struct printed_tensor *t)
{
	c->option.n = c->used.n = 0;
	c->steps = c->found = 0;
	for (uint32_t i = 0; i < c->tensor_n; i++) {
		c->first[i] = c->option.n;
		if (!list_options(c, &t[i], i))
			return false;
	}
	c->first[c->tensor_n] = c->option.n;
	struct state s = state_copy(c, NULL);
	search(c, &s);
	state_free(&s);
	return c->steps <= MAX_STEPS;
}

bool printed_cover(const struct module *m, const struct printed_tensor *t, unsigned n,
                   const struct printed_numbers *numbers, struct printed_choice *out)
{
	struct cover c = {.m = m, .numbers = numbers, .tensor_n = n};
	if (!n || n > PRINTED_COVER_TENSORS || !numbers->used.n ||
	    numbers->used.at[numbers->used.n - 1] > MAX_NUMBER)
		return false;
	c.first = mem_zalloc((n + 1) * sizeof *c.first);
	c.chosen = mem_zalloc(n * sizeof *c.chosen);
	list_missing(&c);
	bool ok = find_cover(&c, t);
	if (!c.found && c.steps <= MAX_STEPS) {
		c.inner = true;
		ok = find_cover(&c, t);
	}
	ok = ok && c.found == 1;
	for (uint32_t i = 0; i < n && ok; i++)
		out[i] = c.option.at[c.chosen[i]].choice;
	free(c.first);
	free(c.chosen);
	vec_free(&c.missing);
	vec_free(&c.option);
	vec_free(&c.used);
	return ok;
}
