/* sema_cover: reads the tensors of a listing by all its numbers (ir/printed_cover.h).
 *
 *     one reading      it is taken, if the program has no errors then
 *     two readings     the one that has no errors; if both have none, a warning shows them and --paired-axes picks one
 *
 * If numbers are left over, or a tensor's number is missing, the listing lacks tensors, and each tensor is read by itself
 * (sema_listing.c). The second reading is then another one that the numbers admit. It is taken if it leaves no number
 * over. */
#include "ir/print.h"
#include "ir/printed_options.h"
#include "parse/nvfuser.h"
#include <stdlib.h>

struct numbered { /* a tensor and its number, as an index into reader.tensor */
	int32_t number;
	uint32_t tensor;
};

struct covers {
	VEC(struct numbered) of;
	struct printed_choice *choice[2]; /* in the order of `of` */
	unsigned n;
	bool exact;       /* they use all numbers */
	bool inner;       /* they have splits that state the inner half */
	bool alone;       /* the first reading is the one that each tensor has by itself */
	type_id *type[2]; /* by tensor */
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* Returns true if some number is that of no tensor. */
static bool lacks_tensors(const struct covers *c)
{
	for (uint32_t i = 0; i < c->of.n; i++)
		if (c->of.at[i].number != (int32_t)i)
			return true;
	return false;
}

/* Returns true if operations make axes that the listing does not show: such an axis has a number that stands nowhere,
 * too. */
static bool makes_axes(const struct printed_tensor *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (t[i].reshaped || !printed_options_apply(&t[i]))
			return true;
	return false;
}

/* Finds the readings of all tensors. */
static void find_covers(struct nv_reader *r, bool loose, struct covers *c)
{
	VEC(struct printed_tensor) t = {0};
	bool ok = true;
	for (uint32_t i = 0; i < r->tensor.n && ok; i++) {
		const struct nv_tensor *x = &r->tensor.at[i];
		const bool elsewhere =
		    x->formal || x->later ||
		    nv_numbers_of(r, x) != &r->numbers; /* not read by the container's numbers */
		ok = elsewhere || !x->block;
		if (!elsewhere)
			vec_push(&c->of, (struct numbered){sema_numbered(r->s, x->name, 'T'), i});
	}
	if (c->of.n)
		qsort(c->of.at, c->of.n, sizeof *c->of.at, compare_numbered);
	for (uint32_t i = 0; i < c->of.n && ok; i++) {
		const struct nv_tensor *x = &r->tensor.at[c->of.at[i].tensor];
		struct printed_tensor p;
		ok = nv_ids(r, x, r->s->m->type.at[x->type].mesh, &p);
		vec_push(&t, p);
	}
	for (unsigned k = 0; k < 2; k++)
		c->choice[k] = mem_zalloc((t.n + 1) * sizeof *c->choice[k]);
	if (ok)
		c->n =
		    printed_cover(r->s->m, t.at, t.n, &r->numbers, PRINTED_COVER_ALL, c->choice, &c->inner);
	c->exact = c->n > 0;
	const bool lacks = lacks_tensors(c);
	c->alone = ok && loose && (!c->n || (c->n == 1 && lacks));
	if (c->alone && !c->n)
		c->n = printed_cover(r->s->m, t.at, t.n, &r->numbers,
		                     lacks || !makes_axes(t.at, t.n) ? PRINTED_COVER_LACKING
		                                                     : PRINTED_COVER_SOME,
		                     c->choice, &c->inner);
	vec_free(&t);
}

static void covers_free(struct covers *c)
{
	vec_free(&c->of);
	for (unsigned k = 0; k < 2; k++) {
		free(c->choice[k]);
		free(c->type[k]);
	}
}

/* Returns true if the reading takes some axis as swizzled. Only extents that are equal by chance may say so. */
static bool is_swizzled(const struct covers *c, unsigned k)
{
	for (uint32_t i = 0; i < c->of.n; i++)
		for (unsigned id = 0; id < PRINTED_COVER_IDS; id++)
			if (c->choice[k][i].swizzled[id])
				return true;
	return false;
}

/* Reads the types of all tensors in the k-th way. */
static void take_cover(struct nv_reader *r, struct covers *c, unsigned k)
{
	bool alone = c->alone && !k;
	r->choice = alone ? NULL : c->choice[k];
	for (uint32_t i = 0; i < c->of.n; i++) {
		struct nv_tensor *t = &r->tensor.at[c->of.at[i].tensor];
		t->choice = !alone && c->choice[k][i].stated ? i + 1 : 0;
		nv_type(r, t);
	}
}

static bool is_read_so(const struct nv_reader *r, const type_id *type)
{
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (r->tensor.at[i].type != type[i])
			return false;
	return true;
}

static type_id *list_types(const struct nv_reader *r)
{
	type_id *type = mem_zalloc((r->tensor.n + 1) * sizeof *type);
	for (uint32_t i = 0; i < r->tensor.n; i++)
		type[i] = r->tensor.at[i].type;
	return type;
}

/* Shows both readings of the first tensor that they read differently. */
static void warn_of_two(struct nv_reader *r, const struct covers *c, unsigned taken)
{
	struct sema *s = r->s;
	uint32_t i = 0;
	while (c->type[0][i] == c->type[1][i])
		i++;
	const char *name = ast_text(s->a, r->tensor.at[i].node);
	struct buf type[2] = {{0}, {0}};
	for (unsigned k = 0; k < 2; k++)
		ir_print_type(s->m, c->type[k][i], &type[k]);
	diag_warning(s->d, W_PRINTED_AXES, ast_at(s->a, r->tensor.at[i].node)->at,
	             "the axes of %s can be read in two ways; they are read as %s", name, type[taken].at);
	diag_note(s->d, DIAG_NOWHERE,
	          "--paired-axes=first reads %s as %s, --paired-axes=second reads it as %s", name, type[0].at,
	          type[1].at);
	for (unsigned k = 0; k < 2; k++)
		buf_free(&type[k]);
}

/* Picks one of two readings, the one that has no errors. Returns -1 if both have some. */
static int pick_cover(struct nv_reader *r, struct covers *c, const type_id *alone)
{
	bool ok[2];
	for (unsigned k = 0; k < 2; k++) {
		take_cover(r, c, k);
		c->type[k] = list_types(r);
		ok[k] = nv_has_no_errors(r, k ? PAIRED_SECOND : PAIRED_FIRST);
	}
	if (!ok[0] || !ok[1])
		return ok[0] ? 0 : ok[1] ? 1 : -1;
	unsigned taken = c->alone ? c->exact : is_read_so(r, alone); /* the second one was read last */
	if (memcmp(c->type[0], c->type[1], r->tensor.n * sizeof *alone) != 0)
		warn_of_two(r, c, taken);
	return (int)taken;
}

/* Makes the reading that differs from `alone` the second one, and `alone` the first. Returns false if there is none. */
static bool find_other(struct nv_reader *r, struct covers *c, const type_id *alone)
{
	for (unsigned k = 0; k < c->n; k++) {
		c->alone = false;
		take_cover(r, c, k);
		c->alone = true;
		if (is_read_so(r, alone))
			continue;
		struct printed_choice *other = c->choice[k];
		c->choice[k] = c->choice[1];
		c->choice[1] = other;
		c->n = 2;
		return true;
	}
	return false;
}

bool nv_read_by_cover(struct nv_reader *r, bool all)
{
	struct covers c = {0};
	enum sema_paired paired = r->s->options->paired;
	bool decided = !nv_list_ways(r);
	find_covers(r, decided && !all, &c);
	type_id *alone = list_types(r);
	bool found = c.n > 0;
	c.alone |= c.n == 1 && decided && !all && is_swizzled(&c, 0);
	int k = -1;
	if (c.alone && !find_other(r, &c, alone))
		c.n = c.exact, c.alone = false;
	if (paired != PAIRED_BY_PROGRAM && c.n < 2)
		diag_note(r->s->d, DIAG_NOWHERE,
		          "--paired-axes=%s changes nothing: the numbers of the axes leave one reading",
		          paired == PAIRED_SECOND ? "second" : "first");
	if (c.n && (all || paired != PAIRED_BY_PROGRAM)) {
		k = paired == PAIRED_SECOND && c.n == 2;
	} else if (c.n == 1) {
		take_cover(r, &c, 0);
		k = (decided && is_read_so(r, alone)) || nv_has_no_errors(r, PAIRED_FIRST) ? 0 : -1;
	} else if (c.n == 2) {
		k = pick_cover(r, &c, alone);
	}
	if (k >= 0) {
		take_cover(r, &c, (unsigned)k);
		c.choice[k] = r->choice ? NULL : c.choice[k];
	} else {
		for (uint32_t i = 0; i < r->tensor.n; i++)
			r->tensor.at[i].choice = 0;
		r->choice = NULL;
		if (found)
			nv_read_types(r, PRINTED_AS_HALVES);
	}
	free(alone);
	covers_free(&c);
	return k >= 0;
}
