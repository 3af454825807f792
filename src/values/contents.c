/* contents: see contents.h. */
#include "values/contents.h"
#include <string.h>

bool extents_meet(const struct extent *a, const struct extent *b, unsigned n, struct extent *out)
{
	for (unsigned k = 0; k < n; k++) {
		out[k].lo = a[k].lo > b[k].lo ? a[k].lo : b[k].lo;
		out[k].hi = a[k].hi < b[k].hi ? a[k].hi : b[k].hi;
		if (out[k].lo >= out[k].hi)
			return false;
	}
	return true;
}

static void set_box(struct cell *c, const struct extent *box, unsigned n)
{
	memcpy(c->axis, box, sizeof *box * n);
}

/* Appends the parts of a cell that are outside of a box inside it. */
static void split_cell(struct contents *c, struct cell of, const struct extent *box)
{
	for (unsigned a = 0; a < c->n; a++) {
		struct cell rest = of;
		if (of.axis[a].lo < box[a].lo) {
			rest.axis[a].hi = box[a].lo;
			vec_push(&c->cell, rest);
		}
		rest = of;
		if (of.axis[a].hi > box[a].hi) {
			rest.axis[a].lo = box[a].hi;
			vec_push(&c->cell, rest);
		}
		of.axis[a] = box[a];
	}
}

static void remove_box(struct contents *c, const struct extent *box)
{
	struct extent common[IR_MAX_LOGICAL];
	uint32_t n = c->cell.n, kept = 0;
	for (uint32_t k = 0; k < n; k++) {
		const struct cell x = c->cell.at[k];
		if (extents_meet(x.axis, box, c->n, common))
			split_cell(c, x, common);
		else
			c->cell.at[kept++] = x;
	}
	memmove(&c->cell.at[kept], &c->cell.at[n], sizeof *c->cell.at * (c->cell.n - n));
	c->cell.n = kept + (c->cell.n - n);
}

/* Joins b to a if together they are a box. */
static bool join_boxes(struct extent *a, const struct extent *b, unsigned n)
{
	int differs = -1;
	for (unsigned k = 0; k < n; k++) {
		if (a[k].lo == b[k].lo && a[k].hi == b[k].hi)
			continue;
		if (differs >= 0 || (a[k].hi != b[k].lo && b[k].hi != a[k].lo))
			return false;
		differs = (int)k;
	}
	if (differs < 0)
		return true;
	a[differs].lo = a[differs].lo < b[differs].lo ? a[differs].lo : b[differs].lo;
	a[differs].hi = a[differs].hi > b[differs].hi ? a[differs].hi : b[differs].hi;
	return true;
}

void contents_write(struct contents *c, const struct extent *box, fact_id fact)
{
	contents_write_by(c, box, fact, 0);
}

void contents_write_by(struct contents *c, const struct extent *box, fact_id fact, uint32_t by)
{
	struct cell new = {.fact = fact, .by = by};
	for (unsigned a = 0; a < c->n; a++)
		if (box[a].lo >= box[a].hi)
			return;
	if (c->cell.n)
		remove_box(c, box);
	set_box(&new, box, c->n);
	for (uint32_t k = 0; k < c->cell.n;) {
		if (c->cell.at[k].fact != fact || !join_boxes(new.axis, c->cell.at[k].axis, c->n)) {
			k++;
			continue;
		}
		c->cell.at[k] = c->cell.at[--c->cell.n];
		k = 0;
	}
	vec_push(&c->cell, new);
}

void contents_read(const struct contents *c, const struct extent *box, struct contents *out)
{
	out->n = c->n;
	for (uint32_t k = 0; k < c->cell.n; k++) {
		struct cell x = {.fact = c->cell.at[k].fact, .by = c->cell.at[k].by};
		if (extents_meet(c->cell.at[k].axis, box, c->n, x.axis))
			vec_push(&out->cell, x);
	}
}

bool contents_cover(const struct contents *c, const struct extent *box, int64_t *index)
{
	struct contents left = {.n = c->n};
	struct cell all = {0};
	for (unsigned a = 0; a < c->n; a++)
		if (box[a].lo >= box[a].hi)
			return true;
	set_box(&all, box, c->n);
	vec_push(&left.cell, all);
	for (uint32_t k = 0; k < c->cell.n && left.cell.n; k++)
		remove_box(&left, c->cell.at[k].axis);
	bool covered = !left.cell.n;
	for (unsigned a = 0; a < c->n && !covered; a++)
		index[a] = left.cell.at[0].axis[a].lo;
	vec_free(&left.cell);
	return covered;
}

void contents_clear(struct contents *c)
{
	c->cell.n = 0;
}
