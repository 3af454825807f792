/* facts_image: other axes for the elements of a fact.
 *
 *     Y[i, j] = 1 * A[i, 3]       in the row [2, 3) of Y     A[2, 3]          facts_within
 *                                 A[2, 3] in that row        A[i, 3]          facts_along
 *                                 as a dim k of index 3      A[i, k]          facts_free */
#include "values/facts.h"
#include <stdlib.h>
#include <string.h>

/* Summands of a fact, with images that can be changed. */
struct copied {
	enum reduce_op reduce;
	uint32_t n;
	struct summand *at;
	struct image_axis (*image)[TERM_MAX_AXES]; /* by summand */
};

static struct copied copy_summands(const struct facts *f, fact_id fact)
{
	const struct fact *x = &f->fact.at[fact];
	struct copied c = {.reduce = x->reduce, .n = x->n};
	c.at = mem_alloc(sizeof *c.at * (c.n + 1));
	c.image = mem_alloc(sizeof *c.image * (c.n + 1));
	for (uint32_t k = 0; k < c.n; k++) {
		c.at[k] = x->at[k];
		c.at[k].image = c.image[k];
		for (unsigned a = 0; a < c.at[k].image_n; a++)
			c.image[k][a] = x->at[k].image[a];
	}
	return c;
}

/* Returns the fact of the copied summands, or the one they were copied from if they have not changed. */
static fact_id end_copy(struct facts *f, struct copied *c, bool changed, fact_id from)
{
	fact_id made = changed ? facts_of(f, c->reduce, c->at, c->n) : from;
	free(c->at);
	free(c->image);
	return made;
}

fact_id facts_move(struct facts *f, fact_id fact, const struct image_axis *to)
{
	struct copied c = copy_summands(f, fact);
	for (uint32_t k = 0; k < c.n; k++)
		for (unsigned a = 0; a < c.at[k].image_n; a++) {
			struct image_axis *x = &c.image[k][a];
			const int64_t offset = x->offset;
			if (x->axis >= AXIS_REPEATED)
				continue;
			*x = to[x->axis];
			x->offset += offset;
		}
	return end_copy(f, &c, c.n, fact);
}

/* Returns true if an index of the term is along axis b. */
static bool is_along(const struct image_axis *image, unsigned n, unsigned b)
{
	for (unsigned a = 0; a < n; a++)
		if (image[a].axis == b)
			return true;
	return false;
}

/* Sets the axis of a summand's index along axis b, which has the index lo only. If several axes have this index, the
 * first index of the term is along the first one. Returns false if no index may be it, or more than there are such
 * axes. */
static bool set_along(struct image_axis *image, unsigned image_n, unsigned b, const struct extent *box,
                      unsigned n)
{
	const int64_t lo = box[b].lo;
	unsigned found = image_n, indices = 0, axes = 0;
	if (is_along(image, image_n, b))
		return false;
	for (unsigned a = image_n; a-- > 0;)
		if (image[a].axis == AXIS_FIXED && image[a].offset == lo) {
			found = a;
			indices++;
		}
	for (unsigned c = b; c < n; c++)
		axes += box[c].lo == lo && box[c].hi == lo + 1 && !is_along(image, image_n, c);
	if (!indices || indices > axes)
		return false;
	image[found] = (struct image_axis){.axis = b};
	return true;
}

fact_id facts_along(struct facts *f, fact_id fact, const struct extent *box, unsigned n)
{
	bool single = false, any = false;
	for (unsigned b = 0; b < n; b++)
		single |= box[b].hi == box[b].lo + 1;
	if (!single)
		return fact;
	struct copied c = copy_summands(f, fact);
	for (uint32_t k = 0; k < c.n; k++)
		for (unsigned b = 0; b < n; b++)
			if (box[b].hi == box[b].lo + 1)
				any |= set_along(c.image[k], c.at[k].image_n, b, box, n);
	return end_copy(f, &c, any, fact);
}

static bool has_fixed(const struct image_axis *image, unsigned n)
{
	for (unsigned a = 0; a < n; a++)
		if (image[a].axis == AXIS_FIXED)
			return true;
	return false;
}

/* Sets the axes of a summand's fixed indices to those of one index in a box, if there are as many of both. If there are
 * any, indices along such axes count as fixed, too: they may have been set by equal numbers. */
static bool align(struct image_axis *image, unsigned image_n, const struct extent *box, const unsigned *axis,
                  unsigned n)
{
	struct image_axis was[TERM_MAX_AXES];
	unsigned fixed[TERM_MAX_AXES], single[TERM_MAX_AXES], fixed_n = 0, single_n = 0;
	if (!has_fixed(image, image_n))
		return false;
	memcpy(was, image, sizeof *image * image_n);
	for (unsigned k = 0; k < n; k++) {
		if (box[k].hi != box[k].lo + 1)
			continue;
		single[single_n++] = k;
		for (unsigned a = 0; a < image_n; a++)
			if (image[a].axis == axis[k])
				image[a] = (struct image_axis){.axis = AXIS_FIXED,
				                               .offset = image[a].offset + box[k].lo};
	}
	for (unsigned a = 0; a < image_n; a++)
		if (image[a].axis == AXIS_FIXED)
			fixed[fixed_n++] = a;
	for (unsigned k = 0; k < fixed_n && fixed_n == single_n; k++) {
		struct image_axis *to = &image[fixed[k]];
		*to = (struct image_axis){.axis = axis[single[k]], .offset = to->offset - box[single[k]].lo};
	}
	if (fixed_n != single_n)
		memcpy(image, was, sizeof *image * image_n);
	return fixed_n == single_n;
}

fact_id facts_align(struct facts *f, fact_id fact, const struct extent *box, const unsigned *axis, unsigned n)
{
	struct copied c = copy_summands(f, fact);
	bool any = false;
	for (uint32_t k = 0; k < c.n; k++)
		any |= align(c.image[k], c.at[k].image_n, box, axis, n);
	return end_copy(f, &c, any, fact);
}

fact_id facts_within(struct facts *f, fact_id fact, const struct extent *box, unsigned n)
{
	struct image_axis to[TERM_MAX_AXES];
	for (unsigned b = 0; b < n; b++)
		to[b] = box[b].hi == box[b].lo + 1
		            ? (struct image_axis){.axis = AXIS_FIXED, .offset = box[b].lo}
		            : (struct image_axis){.axis = b};
	return facts_move(f, fact, to);
}

unsigned facts_find_fixed(const struct image_axis *image, unsigned a, const int64_t *fixed, unsigned n)
{
	unsigned before = 0, c = 0;
	for (unsigned i = 0; i < a; i++)
		before += image[i].axis == AXIS_FIXED && image[i].offset == image[a].offset;
	while (c < n && (fixed[c] != image[a].offset || before--))
		c++;
	return c;
}

fact_id facts_free(struct facts *f, fact_id fact, const int64_t *fixed, unsigned n, unsigned first)
{
	struct copied c = copy_summands(f, fact);
	for (uint32_t k = 0; k < c.n; k++)
		for (unsigned a = 0; a < c.at[k].image_n; a++) {
			const struct image_axis *was = f->fact.at[fact].at[k].image;
			const unsigned i = was[a].axis == AXIS_FIXED ? facts_find_fixed(was, a, fixed, n) : n;
			if (i < n)
				c.image[k][a] = (struct image_axis){.axis = first + i};
		}
	return end_copy(f, &c, fact, fact);
}
