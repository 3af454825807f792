/* printed_numbers: tells from the numbers of all axes of a listing which axes nvFuser has split.
 *
 *     T0_g_float[ideviceIdx.x0{8}, iS1{16}]       no number is left for a parent: two axes, [8, 16]
 *     T0_g_float[ideviceIdx.x4{8}, iS5{16}]       0 to 3 stand nowhere: perhaps halves of one axis of 128
 *
 * One counter gives all axes their numbers, and a split takes its parent out of sight. So a parallel axis
 * numbered n and a plain axis n+1 can be halves only if a smaller number stands nowhere in the listing. The logical
 * axes of a new tensor have numbers in a row, which decides most of the others (printed.c). */
#ifndef HIRC_IR_PRINTED_NUMBERS_H
#define HIRC_IR_PRINTED_NUMBERS_H
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

enum printed_pair { PRINTED_HALVES, PRINTED_OWN, PRINTED_UNDECIDED };

/* How axes are read that can be read in several ways. A tensor that cannot be read so is read in the first way of those
 * that it has. */
enum printed_way {
	PRINTED_AS_HALVES,
	PRINTED_AS_OWN,   /* axes of their own */
	PRINTED_AS_TWICE, /* halves, and an earlier half of the same axis: it is split twice */
	PRINTED_WAY_N
};
#define PRINTED_BIT(way) (1U << PRINTED_AS_##way)

struct printed_numbers {
	VEC(int32_t) used;  /* all numbers of the listing, later sorted */
	VEC(uint32_t) made; /* extents of the axes that reshapes made */
	enum printed_way way;
};

void printed_numbers_add(struct printed_numbers *n, int32_t number);
/* Call it after all numbers are added. */
void printed_numbers_sort(struct printed_numbers *n);
/* Returns how an axis with this number and the next one are read; never PRINTED_HALVES. */
enum printed_pair printed_numbers_pair(const struct printed_numbers *n, int32_t number);
/* Returns how many smaller numbers no axis of the listing has. */
int32_t printed_numbers_hidden(const struct printed_numbers *n, int32_t number);
/* Returns true if an axis of the listing has the number. */
bool printed_numbers_has(const struct printed_numbers *n, int32_t number);
/* Adds the extent of an axis that a reshape made. Such an extent is no sign of a split. */
void printed_numbers_add_made(struct printed_numbers *n, uint32_t extent);
bool printed_numbers_is_made(const struct printed_numbers *n, uint32_t extent);
void printed_numbers_free(struct printed_numbers *n);

#endif
