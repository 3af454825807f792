/* written: tests if read memory was written before, by an access of its rank.
 *
 *     A: f32[8@stream(4)] = allocate()
 *     a = shard_by_stream(A, 0)
 *     a <- relu(X)                  block 0 of A is written
 *     b = shard_by_stream(A, 1)
 *     Y <- relu(b)                  reads block 1, which nothing has written
 *
 * A read is wrong if no part that was written has any element in common with it. Memory that other ranks
 * write, too, is taken as a whole. */
#include "check/checker.h"

static bool is_symmetric(const struct rank_check *w, const struct storage *x)
{
	return value_type(w->m, x->value)->memory == MEMORY_SYMMETRIC;
}

/* Inputs are; so is memory that an allocate fills. */
static bool is_given(const struct rank_check *w, const struct storage *x)
{
	op_id def = w->m->value.at[x->value].def;
	return !def || op_attr_is_true(w->m, def, "zero_init") ||
	       op_attr_is_true(w->m, def, "resets_to_zero");
}

static bool is_written(const struct storage *x, region_part_id part)
{
	uint32_t word = part / 64;
	return word < x->written_bit.n && x->written_bit.at[word] >> part % 64 & 1;
}

void written_add(struct rank_check *w, const struct access *a)
{
	struct storage *x = &w->storage.at[a->view.storage];
	region_part_id part = is_symmetric(w, x) ? 0 : a->view.region;
	if (a->one_of || is_written(x, part)) /* one_of: others that this rank stands for write nothing */
		return;
	while (x->written_bit.n <= part / 64)
		vec_push(&x->written_bit, 0);
	x->written_bit.at[part / 64] |= (uint64_t)1 << part % 64;
	vec_push(&x->written, part);
}

void written_check(struct rank_check *w, op_id op, const struct access *a)
{
	const struct storage *x = &w->storage.at[a->view.storage];
	region_part_id part = a->view.region;
	if (is_given(w, x) || x->freed || is_written(x, part) || is_written(x, 0) ||
	    parts_is_empty(&w->c->parts, part))
		return;
	for (uint32_t k = x->written.n; k-- > 0;) {
		check_spend(w->c, 1);
		if (parts_is_empty(&w->c->parts, x->written.at[k]) || /* so the part that is read may be */
		    !parts_disjoint(&w->c->parts, x->written.at[k], part))
			return;
	}
	report_unwritten(w, op, x->value);
}

void written_clear(struct storage *x)
{
	x->written.n = x->written_bit.n = 0;
}

void written_free(struct storage *x)
{
	vec_free(&x->written);
	vec_free(&x->written_bit);
}
