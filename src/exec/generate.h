/* generate: test data, a function of (seed, logical index) alone.
 *
 * So every rank makes its own block, and the data is the same for any number of ranks and any
 * layout. Random floats are k/8 with k in [-8, 8], times a scale: without one exact in every float type, and
 * sums of their products are exact in f32 for long. Random integers are in [-4, 4] (u8: [0, 8]; bool: 0, 1).
 */
#ifndef HIRC_EXEC_GENERATE_H
#define HIRC_EXEC_GENERATE_H
#include "rt/convert.h"

enum generator { GENERATE_RANDOM, GENERATE_IOTA, GENERATE_ZEROS, GENERATE_FULL };

struct generate {
	enum generator kind;
	uint64_t seed; /* RANDOM */
	double f;      /* FULL: for floats; RANDOM: their scale */
	int64_t i;     /* FULL: for integers */
};

/* The seed of an input that states none. */
uint64_t generate_seed(const char *name);
/* Values of the elements at logical (row-major) indices, before they are rounded to t: floats in f,
 * integers and bool in i. */
void generate_values(const struct generate *g, enum dtype t, const int64_t *linear, unsigned n, double *f,
                     int64_t *i);

#endif
