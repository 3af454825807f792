/* generate: makes test data from counters. */
#include "exec/generate.h"
#include "base/hash.h"
#include <string.h>

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

enum {
	FLOATS = 17,  /* number of values of a random float */
	INTEGERS = 9, /* and of a random integer */
};

/* The values that a random element can have, in the form in which they are stored. */
struct random_values {
	unsigned n;
	uint64_t stored[FLOATS];
};

static struct random_values values_of(const struct generate *g, enum dtype t)
{
	struct random_values v = {dtype_is_float(t) ? FLOATS : t == DTYPE_BOOL ? 2 : INTEGERS, {0}};
	int64_t least = t == DTYPE_BOOL || t == DTYPE_U8 ? 0 : -(INTEGERS / 2);
	for (unsigned k = 0; k < v.n; k++) {
		if (dtype_is_float(t))
			rt_store_f64(t, &v.stored[k], g->f * ((int)k - FLOATS / 2) / 8);
		else
			rt_store_i64(t, &v.stored[k], least + k);
	}
	return v;
}

/* Stores one of the values for each index: 32 random bits, mapped to their number. */
#define PICK(T)                                                                                              \
	for (unsigned k = 0; k < n; k++) {                                                                   \
		uint64_t bits = mix_bits(seed + (uint64_t)linear[k] * 0x9e3779b97f4a7c15u) >> 32;            \
		memcpy((T *)to + offset[k], &v.stored[bits * v.n >> 32], sizeof(T));                         \
	}

static void pick_elements(const struct generate *g, enum dtype t, const int64_t *linear,
                          const int64_t *offset, unsigned n, void *to)
{
	const struct random_values v = values_of(g, t);
	uint64_t seed = mix_bits(g->seed + 0x9e3779b97f4a7c15u);
	switch (dtype_bytes(t)) {
	case 1:
		PICK(uint8_t)
		break;
	case 2:
		PICK(uint16_t)
		break;
	case 4:
		PICK(uint32_t)
		break;
	default:
		PICK(uint64_t)
	}
}

void generate_elements(const struct generate *g, enum dtype t, const int64_t *linear, const int64_t *offset,
                       unsigned n, void *to)
{
	if (g->kind == GENERATE_RANDOM) {
		pick_elements(g, t, linear, offset, n, to);
		return;
	}
	for (unsigned k = 0; k < n; k++) {
		char *at = (char *)to + offset[k] * (int64_t)dtype_bytes(t);
		bool is_index = g->kind == GENERATE_IOTA, is_zero = g->kind == GENERATE_ZEROS;
		if (dtype_is_float(t))
			rt_store_f64(t, at, is_index ? (double)linear[k] : is_zero ? 0 : g->f);
		else
			rt_store_i64(t, at, is_index ? linear[k] : is_zero ? 0 : g->i);
	}
}
