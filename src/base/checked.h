/* checked: 64-bit integer arithmetic that reports overflow instead of wrapping.
 *
 * Each function returns false on overflow, on division by zero and if the
 * result is not defined; *out is set on success only. Division rounds as its
 * name says, for all signs; mod by a positive divisor is never negative. */
#ifndef HIRC_BASE_CHECKED_H
#define HIRC_BASE_CHECKED_H
#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(int64_t a, int64_t b, int64_t *out)
{
	int64_t r;
	if (__builtin_add_overflow(a, b, &r))
		return false;
	*out = r;
	return true;
}

static inline bool checked_sub(int64_t a, int64_t b, int64_t *out)
{
	int64_t r;
	if (__builtin_sub_overflow(a, b, &r))
		return false;
	*out = r;
	return true;
}

static inline bool checked_mul(int64_t a, int64_t b, int64_t *out)
{
	int64_t r;
	if (__builtin_mul_overflow(a, b, &r))
		return false;
	*out = r;
	return true;
}

static inline bool checked_floor_div(int64_t a, int64_t b, int64_t *out)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	int64_t q = a / b;
	*out = q - (a % b != 0 && (a < 0) != (b < 0));
	return true;
}

static inline bool checked_ceil_div(int64_t a, int64_t b, int64_t *out)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	int64_t q = a / b;
	*out = q + (a % b != 0 && (a < 0) == (b < 0));
	return true;
}

/* a - b * floor(a / b); for b > 0 the result is in [0, b). */
static inline bool checked_mod(int64_t a, int64_t b, int64_t *out)
{
	if (b == 0)
		return false;
	if (b == -1) {
		*out = 0;
		return true;
	}
	int64_t r = a % b;
	*out = r != 0 && (r < 0) != (b < 0) ? r + b : r;
	return true;
}

#endif
