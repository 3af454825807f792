/* ref_random: random numbers, by Philox4x32-10. It computes with whole numbers below 2^64 and shares nothing with the
 * kernels. An element has its number in the whole tensor, row-major. */
#include "ref/ref_internal.h"
#include "ref/ref_sample.h"
#include <math.h>

#define WORD ((uint64_t)1 << 32)

struct generator {
	uint64_t seed, offset;
};

/* Returns word k of the four that the generator makes of a counter. */
static uint64_t get_word(const struct generator *g, uint64_t counter, unsigned k)
{
	static const uint64_t factor[2] = {3528531795, 3449720151}, step[2] = {2654435769, 3144134277};
	uint64_t x[4] = {g->offset % WORD, g->offset / WORD, counter % WORD, counter / WORD};
	for (unsigned round = 0; round < 10; round++) {
		uint64_t key[2] = {(g->seed + round * step[0]) % WORD,
		                   (g->seed / WORD + round * step[1]) % WORD};
		uint64_t first = x[0] * factor[0], second = x[2] * factor[1];
		x[0] = second / WORD ^ x[1] ^ key[0];
		x[1] = second % WORD;
		x[2] = first / WORD ^ x[3] ^ key[1];
		x[3] = first % WORD;
	}
	return x[k];
}

static double get_number(const struct generator *g, enum dtype t, uint64_t i)
{
	const int digits = ref_precision(t);
	if (t == DTYPE_F64) {
		uint64_t low = get_word(g, i / 2, i % 2 * 2), high = get_word(g, i / 2, i % 2 * 2 + 1);
		return ldexp(floor(ldexp((double)high, digits - 32)), -digits) +
		       ldexp((double)(low >> (64 - digits)), -digits);
	}
	return ldexp(floor(ldexp((double)get_word(g, i / 4, i % 4), digits - 32)), -digits);
}

/* Returns the number of an element in the whole tensor. index: in the tensor of the program, which may be smaller. */
static uint64_t number_of_element(const struct ref_context *c, value_id v, int nd, const int64_t *n,
                                  const int64_t *index)
{
	uint64_t number = 0;
	for (int a = 0; a < nd; a++) {
		struct ref_indices x = {.extent = n[a]};
		if (c->o->smaller)
			x = ref_sample_axis(c->o->smaller, v, (unsigned)a);
		number = number * (uint64_t)x.extent + (uint64_t)(x.at ? x.at[index[a]] : index[a]);
	}
	return number;
}

bool ref_uniform(struct ref_context *c, const struct ref_call *call, struct ref_array *out)
{
	const value_id result = op_result(c->m, call->op, call->result);
	int64_t index[IR_MAX_LOGICAL] = {0}, i = 0;
	if (call->n != 2 || out->ints)
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
	const struct generator g = {(uint64_t)call->in[0].i, (uint64_t)call->in[1].i};
	if (!ref_array_count(out))
		return true;
	do {
		if (!call->want || call->want[i]) {
			const uint64_t number = number_of_element(c, result, out->nd, out->n, index);
			ref_store(out, i, get_number(&g, out->dtype, number));
			out->state[i] = REF_DEFINED;
		}
		i++;
	} while (ref_next(out->nd, out->n, index));
	return true;
}
