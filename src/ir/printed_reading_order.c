/* printed_reading_order: puts the printed axes of a tensor back in the order of its logical axes.
 *
 *     T0[ideviceIdx.x1{2}, iS0{4}, iS2{8}]      x1 is an axis of its own: iS0, x1, iS2 */
#include "ir/printed_cover.h"
#include "ir/printed_reading.h"

static bool has_number(const struct printed_tensor *t, int32_t number)
{
	for (unsigned i = 0; i < t->id_n; i++)
		if (t->id[i].number == number)
			return true;
	return false;
}

/* Returns the first of the two numbers, which stand nowhere, of the axes that were merged into a parallel id: they are in
 * a row with another axis of the tensor. -1: there are none. */
static int32_t merged_number(const struct printed_tensor *t, unsigned i)
{
	const struct printed_id *x = &t->id[i];
	for (int32_t n = 0; t->by_number && x->product && x->axis.place != PLACE_NONE && n + 1 < x->number;
	     n++)
		if (!printed_numbers_has(t->by_number, n) && !printed_numbers_has(t->by_number, n + 1) &&
		    (has_number(t, n + 2) || (n && has_number(t, n - 1))))
			return n;
	return -1;
}

/* Returns the number of the logical axis that ends in id i, a half: the last number that stands nowhere before that of the
 * next plain axis. The number of id i, if there is no such number or axis. */
static int32_t parent_number(const struct printed_tensor *t, const struct printed_reading *r, unsigned i)
{
	unsigned next = i + 1;
	while (next < t->id_n && (r->is_half[next] || r->half_of[next] >= 0))
		next++;
	for (int32_t n = next < t->id_n && t->by_number ? t->id[next].number - 1 : -1; n >= 0; n--)
		if (!printed_numbers_has(t->by_number, n))
			return n;
	return t->id[i].number;
}

/* Returns the number that tells an id's place among the others: that of its parent, which stands nowhere, if a split,
 * reshape, slice or pad made it. */
static int32_t place_number(const struct printed_tensor *t, const struct printed_reading *r, unsigned i)
{
	int32_t number = t->id[i].number, merged = merged_number(t, i);
	if (merged >= 0)
		return merged;
	if (r->half_of[i] >= 0)
		return parent_number(t, r, i);
	while (t->id[i].made && t->by_number && number > 0 && printed_numbers_has(t->by_number, number))
		number--;
	return number;
}

/* Returns true if the axis of id k has a place before that of id i. */
static bool stands_before(const struct printed_tensor *t, const struct printed_reading *r, unsigned k,
                          unsigned i)
{
	int32_t x = place_number(t, r, k), y = place_number(t, r, i);
	return x == y ? t->id[k].number < t->id[i].number : x < y;
}

/* Lists the ids by the numbers of their logical axes, outer halves last. */
static void order_chosen(const struct printed_tensor *t, const struct printed_reading *r, uint8_t *order)
{
	unsigned n = 0;
	for (unsigned outer = 0; outer < 2; outer++)
		for (unsigned i = 0; i < t->id_n; i++) {
			if (r->is_half[i] != (outer == 1))
				continue;
			unsigned at = n++;
			for (; !outer && at > 0 && t->choice->logical[order[at - 1]] > t->choice->logical[i];
			     at--)
				order[at] = order[at - 1];
			order[at] = (uint8_t)i;
		}
}

/* Returns the id with the smallest number among the first `front` ids that are no halves and not put, or -1. */
static int least_own(const struct printed_tensor *t, const struct printed_reading *r, unsigned front,
                     const bool *put)
{
	int least = -1;
	for (unsigned k = 0; k < front; k++)
		if (!put[k] && !r->is_half[k] && r->half_of[k] < 0 &&
		    (least < 0 || t->id[k].number < t->id[least].number))
			least = (int)k;
	return least;
}

/* Returns true if a permute of two axes has numbers in order. It moves something, so that the first axis, a parallel one,
 * was moved to the front. */
static bool must_be_moved(const struct printed_tensor *t, const struct printed_reading *r)
{
	return t->by_number && t->permuted && t->id_n == 2 && r->half_of[0] < 0 && r->half_of[1] < 0 &&
	       t->id[0].axis.place != PLACE_NONE && t->id[1].axis.place == PLACE_NONE &&
	       t->id[0].number < t->id[1].number;
}

/* nvFuser moves parallel axes to the front; those that are no halves go back to where their numbers put them. In the
 * result of a permute the numbers are out of order anyway, so that no axis goes back. */
void printed_reading_order(const struct printed_tensor *t, const struct printed_reading *r, uint8_t *order)
{
	if (t->choice) {
		order_chosen(t, r, order);
		return;
	}
	if (must_be_moved(t, r)) {
		order[0] = 1;
		order[1] = 0;
		return;
	}
	unsigned front = 0, n = 0;
	while (t->by_number && !t->permuted && front < t->id_n && t->id[front].axis.place != PLACE_NONE)
		front++;
	bool put[IR_MAX_AXES] = {false};
	for (unsigned i = front; i <= t->id_n; i++) {
		int k;
		while ((k = least_own(t, r, front, put)) >= 0 &&
		       (i == t->id_n || stands_before(t, r, (unsigned)k, i))) {
			put[k] = true;
			order[n++] = (uint8_t)k;
		}
		if (i < t->id_n)
			order[n++] = (uint8_t)i;
	}
	for (unsigned k = 0; k < front; k++)
		if (!put[k])
			order[n++] = (uint8_t)k;
}
