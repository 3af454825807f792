/* valuation_pieces: an operand that consists of several terms along an axis, for operations that need the axis whole.
 *
 *     softmax(cat(A, B))     one term: pieces [0, a) of A and [a, a + b) of B */
#include "values/valuation.h"
#include <stdlib.h>

static int compare_cells(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	for (unsigned k = 0; k < IR_MAX_LOGICAL; k++)
		if (x->axis[k].lo != y->axis[k].lo)
			return x->axis[k].lo < y->axis[k].lo ? -1 : 1;
	return 0;
}

fact_id value_join_pieces(struct facts *f, struct contents *piece, const struct extent *box,
                          uint32_t whole_axes)
{
	struct application a = {.kind = TERM_PIECES, .dim_n = piece->n, .operand_n = piece->cell.n};
	struct buf text = {0};
	int64_t index[IR_MAX_LOGICAL];
	if (piece->cell.n > TERM_MAX_OPERANDS || !contents_cover(piece, box, index))
		return FACT_UNKNOWN;
	uint32_t cut = 0; /* the axes along which the pieces lie */
	for (uint32_t i = 0; i < piece->cell.n; i++)
		for (unsigned k = 0; k < piece->n; k++)
			if (piece->cell.at[i].axis[k].lo > box[k].lo ||
			    piece->cell.at[i].axis[k].hi < box[k].hi)
				cut |= 1u << k;
	if (cut & ~whole_axes)
		return FACT_UNKNOWN;
	whole_axes = cut;
	qsort(piece->cell.at, piece->cell.n, sizeof *piece->cell.at, compare_cells);
	for (unsigned k = 0; k < piece->n; k++)
		if (whole_axes >> k & 1)
			a.dim[k] =
			    (struct evaluate_axis){.kind = EVALUATE_WHOLE, .lo = box[k].lo, .hi = box[k].hi};
	for (unsigned i = 0; i < piece->cell.n; i++) {
		a.operand[i] = piece->cell.at[i].fact;
		for (unsigned k = 0; k < piece->n; k++)
			if (whole_axes >> k & 1)
				buf_printf(&text, "%lld:%lld ", (long long)piece->cell.at[i].axis[k].lo,
				           (long long)piece->cell.at[i].axis[k].hi);
	}
	a.label = facts_label(f, text.n ? text.at : "");
	buf_free(&text);
	return evaluate(f, &a);
}
