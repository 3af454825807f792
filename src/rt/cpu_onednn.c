/* cpu_onednn: see cpu_onednn.h.
 *
 * There are three ways. dnnl_sgemm reads any order of f32, but generates its code at the first call,
 * which takes 20 ms. A primitive for given sizes takes 1 ms to make, and the lane keeps it. It reads b
 * in its present order, or packed in the order that oneDNN prefers. Packed is fastest, but costs a copy
 * of b; with many rows that pays at once. Programs that have only small contractions gain little by
 * oneDNN and use BLAS. */
#include "rt/cpu_onednn.h"
#ifdef HIRC_HAVE_ONEDNN
#include "rt/cpu_onednn_make.h"
#include "rt/device_impl.h"
#include <omp.h>
#include <string.h>

enum { PRODUCT_SCRATCH = 3, PACK_SCRATCH = 4 }; /* scratch numbers; the caller uses the lower ones */

/* Number of multiplications from which the start of dnnl_sgemm does not matter. */
enum { LARGE_WORK = 1 << 24 };

enum way { NONE, SGEMM, LIES, PACKED };

/* Returns true if the processor has these instructions. Without AVX-512 BLAS is as fast. */
static bool has_isa(dnnl_cpu_isa_t isa)
{
	return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

bool cpu_onednn_takes_bf16(int64_t m, int64_t n, int64_t k)
{
	return (double)m * (double)n * (double)k >= RT_BF16_LEAST_WORK &&
	       has_isa(dnnl_cpu_isa_avx512_core_amx);
}

/* Chooses the fastest way; the numbers of rows are measured. */
static enum way choose_way(const struct cpu_product *p)
{
	bool at = p->a.col != 1, bt = p->b.col != 1;
	if (p->narrow)
		return p->pack || (!bt && p->m >= 1024) ? PACKED : LIES;
	double work = (double)p->m * (double)p->n * (double)p->k;
	bool large = work >= LARGE_WORK;
	if (work < RT_LEAST_WORK || !has_isa(dnnl_cpu_isa_avx512_core))
		return NONE;
	if (at)
		return large && !bt ? SGEMM : NONE;
	if (p->pack || (large && p->m >= (bt ? 1024 : 256)))
		return PACKED;
	return large && !bt ? SGEMM : LIES;
}

/* Sets the number of threads, which belongs to the calling thread. */
static void use_threads(const struct cpu_lane *lane)
{
	if (lane->threads)
		omp_set_num_threads(lane->threads);
}

/* ---- as dnnl_sgemm */

static bool sgemm(struct cpu_lane *lane, const struct cpu_product *p)
{
	bool at = p->a.col != 1, bt = p->b.col != 1;
	if (lane->onednn)
		lane->onednn->warm[at][bt] = true;
	return dnnl_sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', p->m, p->n, p->k, 1, p->a.data,
	                  at ? p->a.col : p->a.row, p->b.data, bt ? p->b.col : p->b.row, p->add, p->c,
	                  p->c_row) == dnnl_success;
}

/* Calls it once, with small matrices. */
static void warm_onednn(struct cpu_lane *lane, const struct cpu_product *p)
{
	enum { SIDE = 128 };
	char why[RT_WHY_BYTES];
	bool at = p->a.col != 1, bt = p->b.col != 1;
	size_t matrix = sizeof(float) * SIDE * SIDE;
	struct cpu_onednn *o = onednn_opened(lane);
	float *x = o && !o->warm[at][bt] ? cpu_scratch(lane, PRODUCT_SCRATCH, 3 * matrix, why) : NULL;
	if (!x)
		return;
	memset(x, 0, 3 * matrix);
	struct cpu_product small = {.m = SIDE,
	                            .n = SIDE,
	                            .k = SIDE,
	                            .a = {x, at ? 1 : SIDE, at ? SIDE : 1},
	                            .b = {x + SIDE * SIDE, bt ? 1 : SIDE, bt ? SIDE : 1},
	                            .c = x + 2 * SIDE * SIDE,
	                            .c_row = SIDE};
	sgemm(lane, &small);
}

/* ---- in the form made for its sizes */

/* Returns NULL if oneDNN has no such primitive. */
static struct onednn_made *find_primitive(struct cpu_lane *lane, const struct cpu_product *p, bool packed)
{
	struct onednn_key key = {p->m,     p->n,     p->k,      p->a.row,    p->a.col, p->b.row,
	                         p->b.col, p->c_row, p->narrow, p->c_narrow, p->add,   packed};
	struct cpu_onednn *o = onednn_opened(lane);
	return o ? onednn_made(o, &key) : NULL;
}

static bool execute_primitive(const struct cpu_onednn *o, dnnl_primitive_t primitive, int n,
                              const dnnl_exec_arg_t *arg, void *const *data)
{
	for (int i = 0; i < n; i++)
		if (dnnl_memory_set_data_handle(arg[i].memory, data[i]) != dnnl_success)
			return false;
	return dnnl_primitive_execute(primitive, o->stream, n, arg) == dnnl_success &&
	       dnnl_stream_wait(o->stream) == dnnl_success;
}

/* Returns b unchanged, packed now, or packed before; NULL: no memory. */
static void *get_packed_operand(struct cpu_lane *lane, const struct cpu_product *p,
                                const struct onednn_made *made, void *scratch)
{
	char why[RT_WHY_BYTES];
	struct rt_pack *kept = p->pack && made->packed <= p->pack->bytes ? p->pack : NULL;
	if (!made->pack)
		return (void *)p->b.data;
	if (kept && kept->have == p->contents && kept->layout == made->layout)
		return kept->at;
	void *b = kept ? kept->at : cpu_scratch(lane, PACK_SCRATCH, made->packed, why);
	if (kept)
		kept->have = 0;
	if (!b || !execute_primitive(lane->onednn, made->pack, 3, made->pack_arg,
	                             (void *[]){(void *)p->b.data, b, scratch}))
		return NULL;
	if (kept)
		kept->have = p->contents, kept->layout = made->layout;
	return b;
}

static bool run_made(struct cpu_lane *lane, const struct cpu_product *p, bool packed)
{
	char why[RT_WHY_BYTES];
	struct onednn_made *made = find_primitive(lane, p, packed);
	void *scratch = made ? cpu_scratch(lane, PRODUCT_SCRATCH, made->scratch, why) : NULL;
	void *b = scratch ? get_packed_operand(lane, p, made, scratch) : NULL;
	return b && execute_primitive(lane->onednn, made->product, 4, made->arg,
	                              (void *[]){(void *)p->a.data, b, p->c, scratch});
}

/* ---- all */

bool cpu_onednn_multiply(struct cpu_lane *lane, const struct cpu_product *p)
{
	enum way way = choose_way(p);
	if (way == NONE)
		return false;
	use_threads(lane);
	if (way == PACKED && run_made(lane, p, true))
		return true;
	return way == SGEMM ? sgemm(lane, p) : run_made(lane, p, false);
}

/* Also touches the scratch memory. */
void cpu_onednn_prepare(struct cpu_lane *lane, const struct cpu_product *p)
{
	char why[RT_WHY_BYTES];
	enum way way = choose_way(p);
	if (way == NONE)
		return;
	use_threads(lane);
	if (way == SGEMM)
		return warm_onednn(lane, p);
	struct onednn_made *made = find_primitive(lane, p, way == PACKED);
	void *scratch = made ? cpu_scratch(lane, PRODUCT_SCRATCH, made->scratch, why) : NULL;
	bool here = made && way == PACKED && (!p->pack || p->pack->bytes < made->packed);
	void *packed = here ? cpu_scratch(lane, PACK_SCRATCH, made->packed, why) : NULL;
	if (scratch)
		memset(scratch, 0, made->scratch);
	if (packed)
		memset(packed, 0, made->packed);
}
#else
bool cpu_onednn_takes_bf16(int64_t m, int64_t n, int64_t k)
{
	(void)m, (void)n, (void)k;
	return false;
}

bool cpu_onednn_multiply(struct cpu_lane *lane, const struct cpu_product *p)
{
	(void)lane, (void)p;
	return false;
}

void cpu_onednn_prepare(struct cpu_lane *lane, const struct cpu_product *p)
{
	(void)lane, (void)p;
}

void cpu_onednn_free(struct cpu_lane *lane)
{
	(void)lane;
}
#endif
