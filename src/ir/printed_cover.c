/* printed_cover: see the header.
 *
 * Each tensor has a list of options (printed_options.h): which of its ids are halves, and which number its first logical
 * axis has. An option uses some of the missing numbers. The search looks for one option a tensor so that each missing
 * number is used once. A tensor that was made later has larger numbers.
 *
 * A parallel id is the outer half of most splits. Only if no solution has none but these, ids are tried as inner halves,
 * too: T0[ideviceIdx.x2{2}, iS1{6}] without 0 is axis 0, split into 1 and 2. If tensors are missing in the listing, they
 * are also tried for a second solution. */
#include "ir/printed_cover.h"
#include "base/vec.h"
#include "ir/expr.h"
#include "ir/printed_options.h"
#include <string.h>

enum {
	MAX_NUMBER = 8192, /* of an axis */
	MAX_STEPS = 100,   /* of the search */
};

struct cover {
	struct printed_options o;
	const struct printed_numbers *numbers;
	uint32_t *first; /* by tensor: its first option; one more than tensors */
	uint32_t *alike; /* by tensor: the first one that is printed alike */
	bool same;       /* tensors that are printed alike are read alike */
	unsigned tensor_n;
	enum search { EXACT, MOST, LEAST } kind;
	unsigned steps, found;
	uint32_t *chosen[2]; /* by tensor: the option of a solution that was found */
};

static void list_missing(struct cover *c)
{
	const struct printed_numbers *n = c->numbers;
	for (uint32_t i = 0; i < n->used.n; i++)
		for (int32_t k = i ? n->used.at[i - 1] + 1 : 0; k < n->used.at[i]; k++)
			vec_push(&c->o.missing, k);
}

/* ---- search */

struct state {
	uint8_t *alive; /* by option */
	uint8_t *used;  /* by missing number */
	uint8_t *done;  /* by tensor */
};

static struct state state_copy(const struct cover *c, const struct state *of)
{
	struct state s = {mem_zalloc(c->o.option.n + 1), mem_zalloc(c->o.missing.n + 1),
	                  mem_zalloc(c->tensor_n + 1)};
	if (of) {
		memcpy(s.alive, of->alive, c->o.option.n);
		memcpy(s.used, of->used, c->o.missing.n);
		memcpy(s.done, of->done, c->tensor_n);
	} else {
		memset(s.alive, 1, c->o.option.n);
		for (uint32_t t = 0; t < c->tensor_n; t++)
			s.done[t] = c->first[t] == c->first[t + 1];
	}
	return s;
}

static void state_free(struct state *s)
{
	free(s->alive);
	free(s->used);
	free(s->done);
}

static bool is_possible(const struct cover *c, const struct state *s, const struct printed_option *o)
{
	for (uint32_t k = 0; k < o->used_n; k++)
		if (s->used[c->o.used.at[o->used_at + k]])
			return false;
	return true;
}

/* Returns true if two options give the tensor the same domain. */
static bool is_same_domain(const struct printed_option *x, const struct printed_option *y)
{
	bool is_half[PRINTED_COVER_IDS] = {false};
	if (memcmp(x->choice.half_of, y->choice.half_of, sizeof x->choice.half_of) != 0 ||
	    memcmp(x->choice.is_inner, y->choice.is_inner, sizeof x->choice.is_inner) != 0)
		return false;
	for (unsigned i = 0; i < PRINTED_COVER_IDS; i++)
		if (x->choice.half_of[i] >= 0)
			is_half[x->choice.half_of[i]] = true;
	for (unsigned i = 0; i < PRINTED_COVER_IDS; i++)
		for (unsigned k = 0; k < i; k++)
			if (!is_half[i] && !is_half[k] &&
			    (x->choice.logical[i] < x->choice.logical[k]) !=
			        (y->choice.logical[i] < y->choice.logical[k]))
				return false;
	return true;
}

static void choose(const struct cover *c, struct state *s, uint32_t option)
{
	const struct printed_option *o = &c->o.option.at[option];
	for (uint32_t k = c->first[o->tensor]; k < c->first[o->tensor + 1]; k++)
		s->alive[k] = k == option;
	for (uint32_t k = 0; k < o->used_n; k++)
		s->used[c->o.used.at[o->used_at + k]] = 1;
	s->done[o->tensor] = 1;
	for (uint32_t k = 0; k < c->o.option.n; k++) {
		const struct printed_option *x = &c->o.option.at[k];
		if (o->base >= 0 && x->base >= 0 && x->tensor != o->tensor &&
		    (x->tensor < o->tensor) != (x->base < o->base))
			s->alive[k] = 0;
		if (c->same && c->alike[x->tensor] == c->alike[o->tensor] && !is_same_domain(x, o))
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
				s->alive[k] = s->alive[k] && is_possible(c, s, &c->o.option.at[k]);
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
	uint8_t *can = mem_zalloc(c->o.missing.n + 1);
	bool all = true;
	for (uint32_t k = 0; k < c->o.option.n; k++)
		for (uint32_t i = 0; s->alive[k] && i < c->o.option.at[k].used_n; i++)
			can[c->o.used.at[c->o.option.at[k].used_at + i]] = 1;
	for (uint32_t i = 0; i < c->o.missing.n && all; i++)
		all = can[i];
	free(can);
	return all;
}

/* Returns true if both solutions give a tensor the same domain. */
static bool are_options_same(const struct cover *c, uint32_t tensor)
{
	return c->first[tensor] == c->first[tensor + 1] ||
	       is_same_domain(&c->o.option.at[c->chosen[0][tensor]], &c->o.option.at[c->chosen[1][tensor]]);
}

/* Keeps a solution that gives some tensor another domain than the one before. */
static void keep_solution(struct cover *c, const struct state *s)
{
	uint32_t *chosen = c->chosen[c->found];
	bool same = c->found > 0;
	for (uint32_t k = 0; k < c->o.option.n; k++)
		if (s->alive[k])
			chosen[c->o.option.at[k].tensor] = k;
	for (uint32_t t = 0; t < c->tensor_n && same; t++)
		same = are_options_same(c, t);
	c->found += !same;
}

/* Returns true if no more solutions are needed. */
static bool is_over(const struct cover *c)
{
	return c->found == 2 || (c->kind != EXACT && c->found) || c->steps > MAX_STEPS;
}

static void search(struct cover *c, struct state *s)
{
	uint32_t tensor;
	c->steps++;
	if (is_over(c) || !choose_certain(c, s, &tensor) || (c->kind == EXACT && !can_cover(c, s)))
		return;
	if (tensor == c->tensor_n) {
		keep_solution(c, s);
		return;
	}
	for (unsigned n = 0; n <= PRINTED_COVER_IDS; n++)
		for (uint32_t k = c->first[tensor]; k < c->first[tensor + 1]; k++) {
			unsigned used = c->kind == LEAST ? n : PRINTED_COVER_IDS - n;
			if (is_over(c) || !s->alive[k] || c->o.option.at[k].used_n != used)
				continue;
			struct state next = state_copy(c, s);
			choose(c, &next, k);
			search(c, &next);
			state_free(&next);
		}
}

static void find_solutions(struct cover *c, enum search kind, bool same)
{
	struct state s = state_copy(c, NULL);
	c->kind = kind;
	c->steps = c->found = 0;
	c->same = same;
	search(c, &s);
	state_free(&s);
	if (c->steps > MAX_STEPS)
		c->found = 0;
}

/* Finds the solution that uses most of the missing numbers, and the one that uses the fewest. */
static void find_extremes(struct cover *c, bool same)
{
	find_solutions(c, LEAST, same);
	if (!c->found)
		return;
	memcpy(c->chosen[1], c->chosen[0], c->tensor_n * sizeof *c->chosen[0]);
	find_solutions(c, MOST, same);
	for (uint32_t t = 0; t < c->tensor_n && c->found == 1; t++)
		c->found += !are_options_same(c, t);
}

/* Lists the options of all tensors. Returns false if they are too many, or if exact and a tensor has none. */
static bool list_options(struct cover *c, const struct printed_tensor *t, bool inner, bool exact)
{
	c->o.option.n = c->o.used.n = 0;
	c->o.inner = inner;
	c->o.in_order = !exact;
	for (uint32_t i = 0; i < c->tensor_n; i++) {
		c->first[i] = c->o.option.n;
		if ((exact || (printed_options_apply(&t[i]) && !t[i].reshaped)) &&
		    !printed_options_list(&c->o, &t[i], i))
			return false;
	}
	c->first[c->tensor_n] = c->o.option.n;
	return true;
}

/* Finds solutions, with splits that state the inner half or without. Returns false if the search is too long. */
static bool find_covers(struct cover *c, const struct printed_tensor *t, bool inner, bool exact, bool same)
{
	c->found = 0;
	if (!list_options(c, t, inner, exact))
		return c->o.option.n <= PRINTED_MAX_OPTIONS;
	if (exact)
		find_solutions(c, EXACT, same);
	else
		find_extremes(c, same);
	return c->steps <= MAX_STEPS;
}

/* Returns true if the numbers of two ids of x are in the order of those of y. */
static bool are_ordered_alike(const struct printed_tensor *x, const struct printed_tensor *y, unsigned i,
                              unsigned k)
{
	int32_t a = x->id[i].number - x->id[k].number, b = y->id[i].number - y->id[k].number;
	return (a < 0) == (b < 0) && (a == 1) == (b == 1) && (a == -1) == (b == -1);
}

bool printed_are_alike(const struct printed_tensor *x, const struct printed_tensor *y)
{
	if (x->id_n != y->id_n || x->mesh != y->mesh)
		return false;
	for (unsigned i = 0; i < x->id_n; i++) {
		const struct printed_id *a = &x->id[i], *b = &y->id[i];
		if (a->axis.kind != b->axis.kind || a->axis.place != b->axis.place ||
		    a->axis.mesh_axis != b->axis.mesh_axis || a->axis.extent != b->axis.extent ||
		    a->named != b->named)
			return false;
		for (unsigned k = 0; k < i; k++)
			if (!are_ordered_alike(x, y, i, k))
				return false;
	}
	return true;
}

static void find_alike(struct cover *c, const struct printed_tensor *t)
{
	for (uint32_t i = 0; i < c->tensor_n; i++)
		for (c->alike[i] = 0; c->alike[i] < i && !printed_are_alike(&t[c->alike[i]], &t[i]);)
			c->alike[i]++;
}

static void put_choices(const struct cover *c, struct printed_choice *out[2])
{
	for (unsigned k = 0; k < c->found; k++)
		for (uint32_t i = 0; i < c->tensor_n; i++)
			if (c->first[i] < c->first[i + 1])
				out[k][i] = c->o.option.at[c->chosen[k][i]].choice;
}

unsigned printed_cover(struct module *m, const struct printed_tensor *t, unsigned n,
                       const struct printed_numbers *numbers, enum printed_cover_kind kind,
                       struct printed_choice *out[2], bool *inner)
{
	struct cover c = {.o.m = m, .numbers = numbers, .tensor_n = n};
	if (!n || n > PRINTED_COVER_TENSORS || !numbers->used.n ||
	    numbers->used.at[numbers->used.n - 1] > MAX_NUMBER)
		return 0;
	c.first = mem_zalloc((n + 1) * sizeof *c.first);
	c.alike = mem_zalloc(n * sizeof *c.alike);
	for (unsigned k = 0; k < 2; k++)
		c.chosen[k] = mem_zalloc(n * sizeof *c.chosen[k]);
	list_missing(&c);
	find_alike(&c, t);
	const bool exact = kind == PRINTED_COVER_ALL;
	const unsigned enough = kind == PRINTED_COVER_LACKING ? 2 : 1;
	unsigned found = 0;
	bool goes_on = true;
	for (int same = 1; same >= 0 && goes_on && !found; same--)
		for (int with_inner = 0; with_inner < 2 && goes_on && found < enough; with_inner++) {
			goes_on = find_covers(&c, t, with_inner, exact, same);
			if (!goes_on || c.found <= found)
				continue;
			found = c.found;
			*inner = with_inner;
			put_choices(&c, out);
		}
	free(c.first);
	free(c.alike);
	for (unsigned k = 0; k < 2; k++)
		free(c.chosen[k]);
	vec_free(&c.o.missing);
	vec_free(&c.o.option);
	vec_free(&c.o.used);
	return found;
}
