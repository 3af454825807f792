/* permuted: finds which axis of the operand each axis of a permute's result is, from the numbers of the result.
 *
 *     T1_g_float[iS5{4}, iS3{2}, iS4{3}] = Set.Permute( T0_g_float[iS0{2}, iS1{3}, iS2{4}] )     dims=(2, 0, 1)
 *
 * nvFuser numbers the axes of the result in the order of the operand's, and then prints them in their own. A split hides
 * the number of its axis; then the numbers are in a row, and the hidden one stands nowhere in the listing. If that leaves
 * several orders, an axis keeps its devices.
 *
 *     T1_g_float[ideviceIdx.x4{2}, iS3{2}, iS5{5}]     dims=(1, 0, 2), or (0, 2, 1) if x4 was moved to the front */
#ifndef HIRC_IR_PERMUTED_H
#define HIRC_IR_PERMUTED_H
#include "ir/domain.h"
#include "ir/printed_numbers.h"

struct permuted {
	unsigned n;                   /* axes of the result */
	int32_t number[IR_MAX_AXES];  /* by axis; -1: a split hides it */
	uint8_t fitting[IR_MAX_AXES]; /* an order that fits */
};

/* Returns the number of orders that fit; 2 stands for more. No two axes have one number. */
unsigned permuted_find(const struct module *m, struct permuted *p, const struct domain *from,
                       const struct domain *to, const struct printed_numbers *numbers);
/* Makes dims of all numbers, of the axes in an order. Numbers with gaps are in order, too. */
void permuted_rank(const struct permuted *p, const uint8_t *order, uint8_t *dims);
bool permuted_is_identity(const uint8_t *dims, unsigned n);

#endif
