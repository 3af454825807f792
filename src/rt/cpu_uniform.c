/* cpu_uniform: random numbers by Philox4x32-10 (J. Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3,
 * 2011). Each number follows from its place alone, so lines of elements are made in any order.
 *
 *     numbers 6 7 8 9     groups 1 and 2: words 4 5 6 7, 8 9 10 11     words 6 7 8 9 */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/rows.h"

enum { GROUPS = RT_ROW / 2 + 1 }; /* of RT_ROW numbers from any place on, with two words each at most */

/* Makes the words of n groups, four each. */
RT_CLONES static void make_words(uint32_t *word, uint64_t key, uint64_t offset, uint64_t group, unsigned n)
{
	uint32_t x[4][GROUPS], a = (uint32_t)key, b = (uint32_t)(key >> 32);
	for (unsigned i = 0; i < n; i++) {
		x[0][i] = (uint32_t)offset;
		x[1][i] = (uint32_t)(offset >> 32);
		x[2][i] = (uint32_t)(group + i);
		x[3][i] = (uint32_t)((group + i) >> 32);
	}
	for (int round = 0; round < 10; round++, a += 0x9E3779B9u, b += 0xBB67AE85u)
		for (unsigned i = 0; i < n; i++) {
			uint64_t p = (uint64_t)x[0][i] * 0xD2511F53u, q = (uint64_t)x[2][i] * 0xCD9E8D57u;
			x[0][i] = (uint32_t)(q >> 32) ^ x[1][i] ^ a;
			x[1][i] = (uint32_t)q;
			x[2][i] = (uint32_t)(p >> 32) ^ x[3][i] ^ b;
			x[3][i] = (uint32_t)p;
		}
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < 4; k++)
			word[4 * i + k] = x[k][i];
}

/* exact: a float has all integers up to it. */
RT_CLONES static void make_f32(const uint32_t *word, uint64_t exact, size_t n, float *out)
{
	const int shift = 32 - __builtin_ctzll(exact); /* a power of two */
	const float scale = 1 / (float)exact;
	for (size_t i = 0; i < n; i++)
		out[i] = (float)(int32_t)(word[i] >> shift) * scale;
}

RT_CLONES static void make_f64(const uint32_t *word, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t bits = (uint64_t)word[2 * i + 1] << 32 | word[2 * i];
		out[i] = (double)(int64_t)(bits >> 11) * 0x1p-53;
	}
}

/* Makes n numbers that follow one another, in the wide type of t. */
static void make_numbers(const struct rt_task *t, uint64_t number, size_t n, void *out)
{
	uint32_t word[4 * GROUPS];
	const enum dtype type = t->out.dtype;
	const unsigned each = type == DTYPE_F64 ? 2 : 4,
	               at = (unsigned)(number % each); /* numbers of a group */
	make_words(word, (uint64_t)t->scalar[1].i, (uint64_t)t->scalar[2].i, number / each,
	           (unsigned)((at + n - 1) / each + 1));
	if (type == DTYPE_F64)
		make_f64(word + 2 * at, n, out);
	else
		make_f32(word + at, (uint64_t)dtype_exact(type), n, out);
}

/* Makes a line of n elements whose numbers are `step` apart. */
static void make_line(const struct rt_task *t, char *at, int64_t stride, int64_t n, uint64_t number,
                      int64_t step)
{
	union {
		double f64[RT_ROW];
		float f32[RT_ROW];
	} row;
	for (int64_t i = 0, run; i < n; i += run) {
		run = step != 1 ? 1 : n - i < RT_ROW ? n - i : RT_ROW;
		char *to = at + i * stride * (int64_t)dtype_bytes(t->out.dtype);
		make_numbers(t, number + (uint64_t)i * (uint64_t)step, (size_t)run, &row);
		if (t->out.dtype == DTYPE_F64)
			rt_row_store_f64(DTYPE_F64, to, stride, row.f64, (size_t)run);
		else
			rt_row_store_f32(t->out.dtype, to, stride, row.f32, (size_t)run);
	}
}

enum status cpu_uniform(const struct rt_task *t)
{
	const struct rt_view *out = &t->out;
	const int last = out->nd - 1;
	int64_t index[RT_MAX_DIMS] = {0};
	if (!rt_view_count(out))
		return STATUS_OK;
	do {
		uint64_t number = (uint64_t)t->scalar[0].i;
		for (int d = 0; d < last; d++)
			number += (uint64_t)index[d] * (uint64_t)t->in[0].stride[d];
		make_line(t, cpu_address(out, index), last < 0 ? 0 : out->stride[last],
		          last < 0 ? 1 : out->n[last], number, last < 0 ? 1 : t->in[0].stride[last]);
	} while (cpu_next_index(out, last < 0 ? 0 : 1u << last, index));
	return STATUS_OK;
}
