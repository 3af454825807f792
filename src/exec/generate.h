/* generate: makes test data that depend on the seed and the logical index only.
 *
 * So every rank makes its own block, and the data is the same for any number of ranks and any layout.
 * Random floats are k/8 with k in [-8, 8], times a scale. At scale 1 they are exact in every float type,
 * and long sums of their products are exact in f32. Random integers are in [-4, 4] (u8: [0, 8]; bool: 0,
 * 1). */
#ifndef HIRC_EXEC_GENERATE_H
#define HIRC_EXEC_GENERATE_H
#include "rt/convert.h"

enum generator { GENERATE_RANDOM, GENERATE_IOTA, GENERATE_ZEROS, GENERATE_FULL };

struct generate {
	enum generator kind;
	uint64_t seed; /* for RANDOM */
	double f;      /* FULL: the value of floats; RANDOM: the scale of floats */
	int64_t i;     /* FULL: the value of integers */
};

/* Returns the seed of an input that states none. */
uint64_t generate_seed(const char *name);
/* Stores the n elements of logical (row-major) indices `linear` at to[offset]. offset: in elements. */
void generate_elements(const struct generate *g, enum dtype t, const int64_t *linear, const int64_t *offset,
                       unsigned n, void *to);

#endif
