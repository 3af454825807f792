/* kernel_write: key, text and arguments of a kernel; see kernel_write.h. */
#include "cuda/kernel_write.h"
#include <assert.h>

void kernel_key(struct kernel_writer *w, unsigned fact)
{
	assert(fact < 256);
	if (w->key_bytes == KERNEL_KEY_BYTES)
		w->too_large = true;
	else
		w->key[w->key_bytes++] = (unsigned char)fact;
}

void kernel_text(struct kernel_writer *w, const char *format, ...)
{
	va_list args;
	if (!w->wants_text)
		return;
	va_start(args, format);
	buf_vprintf(&w->text, format, args);
	va_end(args);
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Adds an argument with the layout that C gives struct arguments, and zeros in the gaps. */
static unsigned argument(struct kernel_writer *w, const char *type, const void *value, size_t bytes,
                         size_t align)
{
	struct cuda_launch *l = w->launch;
	size_t at = round_up(w->end, align), all = round_up(at + bytes, _Alignof(struct kernel_head));
	if (w->wants_text)
		buf_printf(&w->fields, "\t%s x%u;\n", type, w->arguments);
	if (all > sizeof l->argument) {
		w->too_large = true;
	} else {
		memset(l->argument + l->bytes, 0, all - l->bytes);
		memcpy(l->argument + at, value, bytes);
		l->bytes = all;
		w->end = at + bytes;
	}
	return w->arguments++;
}

void kernel_offsets(struct kernel_writer *w, bool narrow)
{
	assert(!w->arguments);
	w->narrow = narrow;
	kernel_key(w, narrow);
}

unsigned kernel_pointer(struct kernel_writer *w, const void *at, enum dtype t)
{
	static const char *const type[] = {[1] = "u8 *", [2] = "u16 *", [4] = "u32 *", [8] = "u64 *"};
	return argument(w, type[dtype_bytes(t)], &at, sizeof at, _Alignof(void *));
}

unsigned kernel_extent(struct kernel_writer *w, int64_t value)
{
	int32_t low = (int32_t)value;
	if (!w->narrow)
		return argument(w, "offset", &value, sizeof value, _Alignof(int64_t));
	assert(low == value);
	return argument(w, "offset", &low, sizeof low, _Alignof(int32_t));
}

unsigned kernel_i64(struct kernel_writer *w, int64_t value)
{
	return argument(w, "i64", &value, sizeof value, _Alignof(int64_t));
}

unsigned kernel_f64(struct kernel_writer *w, double value)
{
	return argument(w, "f64", &value, sizeof value, _Alignof(double));
}

/* Division by multiplication (Granlund and Montgomery): q = (n * multiplier / 2^32 + n) / 2^shift, 2^(shift -
 * 1) < by <= 2^shift. */
unsigned kernel_divisor(struct kernel_writer *w, int64_t by)
{
	uint32_t d[4] = {(uint32_t)by};
	assert(by > 0 && by <= INT32_MAX);
	while (((uint64_t)1 << d[2]) < (uint64_t)by)
		d[2]++;
	d[1] = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << d[2]) - (uint64_t)by)) / (uint64_t)by + 1);
	return argument(w, "struct divisor", d, sizeof d, _Alignof(uint32_t));
}

void kernel_grid(struct kernel_writer *w, int64_t blocks)
{
	w->launch->grid = blocks < INT32_MAX ? (unsigned)blocks : INT32_MAX;
	w->launch->block = KERNEL_THREADS;
	w->launch->shared = 0;
}

const char *kernel_bits(enum dtype t)
{
	static const char *const type[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
	return type[dtype_bytes(t)];
}
