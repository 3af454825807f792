/* kernel_gradient: the gradients of attention, without memory for the scores.
 *
 *     bf16 and f16, rows of 16 … 256 elements in steps of 16, alike in all operands    kernels/attention_gradient.cuh
 *     everything else                                                                  kernels/attention_gradient_plain.cuh
 *     the sums of rows that all of them need                                           kernels/gradient_sums.cuh
 *
 * Each gradient has a kernel that adds up in registers, in a fixed order, so there are no atomic additions. A block has own
 * rows and reads all others: for the gradient of q, its own are queries, and the others keys; for those of k and v, its own
 * are keys, and the others queries. */
#include "cuda/embedded.h"
#include "cuda/kernel_attention.h"
#include <math.h>

enum { VIEWS = 7, OUT = 0, A, B, C, MASK, D, SUMS };

struct gradient {
	const struct rt_view *view[VIEWS]; /* mask: NULL: none */
	bool of_keys, of_values;
	int batch; /* number of axes before the rows */
	int64_t own, others, depth, width, columns;
	bool causal;
	int64_t first;
	double scale, factor; /* of the scores, of the result */
	struct kernel_axes x;
	int64_t stride[VIEWS][RT_MAX_DIMS];
};

/* Returns the bytes of shared memory of a block that reads `keys` others at a time. */
static int64_t shared_bytes(const struct gradient *a, int64_t keys)
{
	int64_t depth = kernel_attention_row_bytes(a->depth), width = kernel_attention_row_bytes(a->width);
	return ATTENTION_ROWS * (depth + (a->of_values ? 0 : width)) + 3 * keys * (depth + width) +
	       (a->of_keys ? 24 * keys : 0);
}

/* Returns the number of others that a block on tensor cores reads at a time; 0: they do not take these operands. */
static int tile_keys(const struct kernel_writer *w, const struct gradient *a)
{
	enum dtype t = a->view[A]->dtype;
	bool fits = (t == DTYPE_BF16 || t == DTYPE_F16) && a->depth == a->width && a->scale > 0 &&
	            a->scale < INFINITY && a->own < INT32_MAX / 2 && a->others < INT32_MAX / 2;
	for (int k = 0; k < VIEWS; k++)
		if (k != MASK && k != SUMS)
			fits = fits && a->view[k]->dtype == t && kernel_attention_takes(a->view[k]);
	for (int keys = 64; fits && keys >= 16; keys /= 2)
		if (shared_bytes(a, keys) <= w->shared)
			return keys;
	return 0;
}

static void write_facts(struct kernel_writer *w, const struct gradient *a)
{
	kernel_key(w, a->of_keys);
	kernel_key(w, a->of_values);
	kernel_key(w, a->causal);
	kernel_text(w, "#define OF_KEYS %d\n#define OF_VALUES %d\n#define CAUSAL %d\n", a->of_keys,
	            a->of_values, a->causal);
}

/* Adds the addresses of all but the mask: x0 … x5. */
static void write_pointers(struct kernel_writer *w, const struct gradient *a)
{
	for (int k = 0; k < VIEWS; k++)
		if (k != MASK)
			kernel_pointer(w, a->view[k]->data, a->view[k]->dtype);
}

static void write_batches(struct kernel_writer *w, const struct gradient *a)
{
	kernel_place(w, &a->x, 1, "q");
	for (int k = 0; k < VIEWS; k++)
		kernel_offset(w, &a->x, 1, "q", k);
}

static int64_t first_of(const struct gradient *a)
{
	int64_t most = a->own > a->others ? a->own : a->others;
	return a->first < most ? a->first : most;
}

static void write_tiled(struct kernel_writer *w, const struct gradient *a, int keys)
{
	const char *name = dtype_name(a->view[A]->dtype);
	int64_t blocks = (a->own + ATTENTION_ROWS - 1) / ATTENTION_ROWS, batches = kernel_axes_count(&a->x),
	        side = a->others ? ATTENTION_CACHED_BYTES / (2 * a->others * (a->depth + a->width)) : 1;
	side = side < 1 ? 1 : side < batches ? side : batches;
	kernel_key(w, a->view[A]->dtype);
	kernel_key(w, (unsigned)keys);
	kernel_key(w, (unsigned)(a->depth / 16));
	write_facts(w, a);
	write_pointers(w, a);
	kernel_extent(w, a->own);    /* x6 */
	kernel_extent(w, a->others); /* x7 */
	kernel_extent(w, blocks);    /* x8 */
	kernel_extent(w, batches);   /* x9 */
	kernel_extent(w, side);      /* x10 */
	for (int k = 0; k < SUMS; k++)
		if (k != MASK)
			kernel_extent(w, kernel_view_stride(a->view[k], a->batch)); /* x11 … x15 */
	kernel_extent(w, kernel_view_stride(a->view[SUMS], a->batch));              /* x16 */
	kernel_extent(w, kernel_view_stride(a->view[SUMS], a->batch + 1));          /* x17 */
	kernel_extent(w, first_of(a));                                              /* x18 */
	kernel_f64(w, a->scale * 1.4426950408889634);                               /* x19 */
	kernel_f64(w, a->factor);                                                   /* x20 */
	kernel_grid(w, blocks * batches);
	w->launch->shared = (unsigned)shared_bytes(a, keys);
	kernel_text(w,
	            "#define ELEMENT %s\n#define LOAD(x) load_%s_f32(x)\n#define STORE(x) store_%s_f32(x)\n",
	            name, name, name);
	kernel_text(w, "#define DEPTH %d\n#define WIDTH %d\n#define ROWS %d\n#define KEYS %d\n",
	            (int)a->depth, (int)a->width, ATTENTION_ROWS, keys);
	write_batches(w, a);
	bool adds = a->view[MASK] && a->view[MASK]->dtype != DTYPE_BOOL;
	kernel_attention_write_mask(w, a->view[MASK], DTYPE_F32, "(f32)arg.x19");
	kernel_text(w, "#define HAS_MASK %d\n#define SCALE %s\n", a->view[MASK] != NULL,
	            adds ? "1.0f" : "(f32)arg.x19");
	kernel_text(w, "%s%s", cuda_kernels_tensor_cores_cuh, cuda_kernels_attention_gradient_cuh);
}

static void write_plain(struct kernel_writer *w, const struct gradient *a)
{
	enum dtype t = dtype_wide(a->view[A]->dtype);
	const char *wide = dtype_name(t);
	int64_t across = (a->columns + 63) / 64, tiles = (a->own + 31) / 32 * across,
	        blocks = tiles * kernel_axes_count(&a->x);
	for (int k = 0; k < VIEWS; k++)
		kernel_key(w, a->view[k] ? a->view[k]->dtype + 1u : 0);
	write_facts(w, a);
	write_pointers(w, a);
	kernel_extent(w, blocks);     /* x6 */
	kernel_extent(w, tiles);      /* x7 */
	kernel_extent(w, across);     /* x8 */
	kernel_extent(w, a->own);     /* x9 */
	kernel_extent(w, a->others);  /* x10 */
	kernel_extent(w, a->depth);   /* x11 */
	kernel_extent(w, a->width);   /* x12 */
	kernel_extent(w, a->columns); /* x13 */
	for (int k = 0; k < VIEWS; k++)
		if (k != MASK) { /* x14 … x25 */
			kernel_extent(w, kernel_view_stride(a->view[k], a->batch));
			kernel_extent(w, kernel_view_stride(a->view[k], a->batch + 1));
		}
	kernel_extent(w, first_of(a)); /* x26 */
	kernel_f64(w, a->scale);       /* x27 */
	kernel_f64(w, a->factor);      /* x28 */
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_text(w, "typedef %s wide;\n#define EXP(x) exp_%s(x)\n", wide, wide);
	kernel_text(w, "#define INFINITE %s\n#define ADD(x, y, sum) %s(x, y, sum)\n",
	            t == DTYPE_F64 ? "INF_F64" : "INF_F32", t == DTYPE_F64 ? "fma" : "fmaf");
	for (int k = A; k <= D; k++)
		if (k != MASK)
			kernel_text(w, "#define %c(x) load_%s_%s(x)\n", "?ABC?D"[k],
			            dtype_name(a->view[k]->dtype), wide);
	kernel_text(w, "#define SUM(x) load_%s_%s(x)\n#define STORE(x) store_%s_%s(x)\n", wide, wide,
	            dtype_name(a->view[OUT]->dtype), wide);
	write_batches(w, a);
	kernel_attention_write_mask(w, a->view[MASK], t, NULL);
	kernel_text(w, "%s", cuda_kernels_attention_gradient_plain_cuh);
}

bool kernel_write_gradient(struct kernel_writer *w, const struct rt_task *t)
{
	bool of_keys = t->gradient != RT_GRADIENT_Q, narrow = true;
	const struct rt_view *q = &t->in[0], *k = &t->in[1], *v = &t->in[2], *g = &t->in[RT_ATTENTION_SLOPE];
	struct gradient a = {
	    .view = {[OUT] = &t->out,
	             [A] = of_keys ? k : q,
	             [B] = of_keys ? v : g,
	             [C] = of_keys ? q : k,
	             [MASK] = t->scalars >> RT_ATTENTION_MASK & 1 ? NULL : &t->in[RT_ATTENTION_MASK],
	             [D] = of_keys ? g : v,
	             [SUMS] = &t->in[RT_ATTENTION_SUMS]},
	    .of_keys = of_keys,
	    .of_values = t->gradient == RT_GRADIENT_V,
	    .batch = t->out.nd - 2,
	    .causal = t->scalars >> RT_ATTENTION_FIRST & 1,
	    .first = t->scalar[RT_ATTENTION_FIRST].i,
	    .scale = t->scalar[RT_ATTENTION_SCALE].f};
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	a.own = t->out.n[a.batch], a.columns = t->out.n[a.batch + 1];
	a.others = a.view[C]->n[a.batch], a.depth = q->n[a.batch + 1], a.width = v->n[a.batch + 1];
	a.factor = a.of_values ? 1 : a.scale;
	a.x.stride = a.stride;
	kernel_axes_make(&a.x, a.view, VIEWS, (1u << a.batch) - 1, 0);
	for (int i = 0; i < VIEWS; i++)
		narrow = narrow && (!a.view[i] || kernel_view_is_narrow(a.view[i]));
	kernel_offsets(w, narrow);
	int keys = tile_keys(w, &a);
	kernel_key(w, keys != 0);
	if (keys)
		write_tiled(w, &a, keys);
	else
		write_plain(w, &a);
	return true;
}

/* Returns true if rows of a view can be read `per` elements at a time. */
static bool takes_vectors(const struct rt_view *v, int per)
{
	int last = v->nd - 1;
	bool takes = v->stride[last] == 1 && v->n[last] % per == 0 && (uintptr_t)v->data % 16 == 0;
	for (int d = 0; d < last; d++)
		takes = takes && (v->n[d] == 1 || v->stride[d] % per == 0);
	return takes;
}

bool kernel_write_gradient_sums(struct kernel_writer *w, const struct rt_task *t)
{
	const struct rt_view *const view[] = {&t->out, &t->in[0], &t->in[1], &t->in[2]};
	int last = t->out.nd - 1;
	struct kernel_axes x;
	int64_t stride[4][RT_MAX_DIMS];
	bool narrow = true;
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	x.stride = stride;
	kernel_axes_make(&x, view, 4, (1u << last) - 1, 0);
	for (int k = 0; k < 4; k++)
		narrow = narrow && kernel_view_is_narrow(view[k]);
	kernel_offsets(w, narrow);
	int per = (int)(16 / dtype_bytes(view[1]->dtype)), lanes = 16;
	if (view[2]->dtype != view[1]->dtype || !takes_vectors(view[1], per) || !takes_vectors(view[2], per))
		per = 1, lanes = 32;
	int64_t rows = kernel_axes_count(&x), of_block = KERNEL_THREADS / lanes,
	        blocks = (rows + of_block - 1) / of_block;
	kernel_key(w, (unsigned)per);
	for (int k = 0; k < 4; k++)
		kernel_key(w, view[k]->dtype);
	for (int k = 0; k < 4; k++)
		kernel_pointer(w, view[k]->data, view[k]->dtype); /* x0 … x3 */
	kernel_extent(w, rows);                                   /* x4 */
	kernel_extent(w, view[1]->n[last]);                       /* x5 */
	kernel_extent(w, kernel_view_stride(view[1], last));      /* x6 */
	kernel_extent(w, kernel_view_stride(view[2], last));      /* x7 */
	kernel_extent(w, kernel_view_stride(view[0], last));      /* x8 */
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	const char *out = dtype_name(view[0]->dtype);
	kernel_text(w, "#define LANES %d\n#define PER %d\n#define G_BITS %s\n#define O_BITS %s\n", lanes, per,
	            kernel_bits(view[1]->dtype), kernel_bits(view[2]->dtype));
	kernel_text(w, "#define G(x) load_%s_f64(x)\n#define O(x) load_%s_f64(x)\n",
	            dtype_name(view[1]->dtype), dtype_name(view[2]->dtype));
	kernel_text(w, "#define STORE(x) store_%s_f64(x)\n#define LOG(x) store_%s_f64(load_%s_f64(x))\n", out,
	            out, dtype_name(view[3]->dtype));
	kernel_place(w, &x, 1, "q");
	for (int k = 0; k < 4; k++)
		kernel_offset(w, &x, 1, "q", k);
	kernel_text(w, "%s", cuda_kernels_gradient_sums_cuh);
	return true;
}
