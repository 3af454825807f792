/* generate: makes test data from counters. */
#include "exec/generate.h"
#include "base/hash.h"

/* splitmix64's finisher: every bit of the result depends on every bit of x. */
static uint64_t mix_bits(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t generate_seed(const char *name)
{
	return hash_text(name);
}

void generate_values(const struct generate *g, enum dtype t, const int64_t *linear, unsigned n, double *f,
                     int64_t *i)
{
	bool is_float = dtype_is_float(t);
	uint64_t seed = mix_bits(g->seed + 0x9e3779b97f4a7c15u);
	for (unsigned k = 0; k < n; k++) {
		int64_t v = 0;
		double x = 0;
		switch (g->kind) {
		case GENERATE_RANDOM: {
			/* maps 32 random bits to a small range */
			uint64_t bits = mix_bits(seed + (uint64_t)linear[k] * 0x9e3779b97f4a7c15u) >> 32;
			if (is_float)
				x = g->f * (double)((int64_t)(bits * 17 >> 32) - 8) / 8;
			else
				v = (int64_t)(bits * (t == DTYPE_BOOL ? 2 : 9) >> 32) -
				    (t == DTYPE_BOOL || t == DTYPE_U8 ? 0 : 4);
			break;
		}
		case GENERATE_IOTA:
			v = linear[k];
			x = (double)v;
			break;
		case GENERATE_ZEROS:
			break;
		case GENERATE_FULL:
			v = g->i;
			x = g->f;
			break;
		}
		if (is_float)
			f[k] = x;
		else
			i[k] = v;
	}
}
