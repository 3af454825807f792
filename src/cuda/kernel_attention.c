/* kernel_attention: out = softmax(scale * q k^T) v, without memory for the scores.
 *
 *     bf16 and f16, rows of 16 … 256 elements in steps of 16    tensor cores: kernels/attention.cuh
 *     everything else                                           kernels/attention_plain.cuh
 *
 * A block on tensor cores has 128 rows. The more keys it reads at a time, the more of its products run
 * at once, so the tiles are the largest that fit its shared memory. A decoded token has one row a head: its
 * keys are split over several blocks, as FlashDecoding does. */
#include "cuda/kernel_attention.h"
#include "cuda/embedded.h"
#include <math.h>

enum {
	ROWS = ATTENTION_ROWS,
	MOST_WIDTH = 256,
	BLOCKS_WANTED = 256, /* about as many as a GPU runs at once */
	LEAST_TILES = 4,     /* of a split */
};

struct attention {
	const struct rt_view *out, *q, *k, *v, *mask, *logs; /* mask, logs: NULL: none */
	int batch;                                           /* number of axes before the rows */
	int64_t rows, keys, depth, width;
	bool causal;
	int64_t first;
	double scale;
	struct kernel_axes x;
	int64_t stride[6][RT_MAX_DIMS];
};

bool kernel_attention_takes(const struct rt_view *v)
{
	if (v->stride[v->nd - 1] != 1 || v->n[v->nd - 1] % 16 || v->n[v->nd - 1] > MOST_WIDTH ||
	    (uintptr_t)v->data % 16)
		return false;
	for (int d = 0; d < v->nd - 1; d++)
		if (v->n[d] > 1 && v->stride[d] % 8)
			return false;
	return true;
}

int64_t kernel_attention_row_bytes(int64_t elements)
{
	return (elements + 63) / 64 * 64 * 2;
}

/* Returns the bytes of shared memory of a block with tiles of `keys`. */
static int64_t shared_bytes(const struct attention *a, int64_t keys)
{
	int64_t depth = kernel_attention_row_bytes(a->depth), width = kernel_attention_row_bytes(a->width);
	return ROWS * depth + 2 * keys * (depth + width);
}

/* Returns the number of keys of a tile on tensor cores; 0: they do not take these operands. */
static int tile_keys(const struct kernel_writer *w, const struct attention *a)
{
	enum dtype t = a->q->dtype;
	bool fits = (t == DTYPE_BF16 || t == DTYPE_F16) && a->k->dtype == t && a->v->dtype == t &&
	            a->out->dtype == t && kernel_attention_takes(a->q) && kernel_attention_takes(a->k) &&
	            kernel_attention_takes(a->v) && kernel_attention_takes(a->out) && a->scale > 0 &&
	            a->scale < INFINITY && a->keys > 0 && a->keys < INT32_MAX / 2 && a->rows < INT32_MAX / 2;
	for (int keys = 64; fits && keys >= 16; keys /= 2)
		if (shared_bytes(a, keys) <= w->shared)
			return keys;
	return 0;
}

static void write_batches(struct kernel_writer *w, const struct attention *a)
{
	kernel_place(w, &a->x, 1, "q");
	for (int k = 0; k < 6; k++)
		kernel_offset(w, &a->x, 1, "q", k);
}

void kernel_attention_write_mask(struct kernel_writer *w, const struct rt_view *mask, enum dtype wide,
                                 const char *scale)
{
	kernel_key(w, mask ? mask->dtype + 1u : 0);
	if (!mask) {
		kernel_text(w, "#define MASKED(x, row, key) (x)\n");
		return;
	}
	unsigned at = kernel_pointer(w, mask->data, mask->dtype),
	         down = kernel_extent(w, kernel_view_stride(mask, mask->nd - 2)),
	         across = kernel_extent(w, kernel_view_stride(mask, mask->nd - 1));
	kernel_text(
	    w, "#define OF_MASK(row, key) load_%s_%s(arg.x%u[AT_q4 + (row) * arg.x%u + (key) * arg.x%u])\n",
	    dtype_name(mask->dtype), dtype_name(mask->dtype == DTYPE_BOOL ? DTYPE_I64 : wide), at, down,
	    across);
	if (mask->dtype == DTYPE_BOOL)
		kernel_text(w, "#define MASKED(x, row, key) (OF_MASK(row, key) ? (x) : -%s)\n",
		            wide == DTYPE_F64 ? "INF_F64" : "INF_F32");
	else if (scale)
		kernel_text(w, "#define MASKED(x, row, key) fmaf(x, %s, OF_MASK(row, key) * 1.44269504f)\n",
		            scale);
	else
		kernel_text(w, "#define MASKED(x, row, key) ((x) + OF_MASK(row, key))\n");
}

/* Writes STORE_LOG(row, x), which stores the second result of a row. */
static void write_logs(struct kernel_writer *w, const struct attention *a)
{
	kernel_key(w, a->logs ? a->logs->dtype + 1u : 0);
	if (!a->logs) {
		kernel_text(w, "#define STORE_LOG(row, x)\n");
		return;
	}
	const char *type = dtype_name(a->logs->dtype);
	unsigned at = kernel_pointer(w, a->logs->data, a->logs->dtype),
	         down = kernel_extent(w, kernel_view_stride(a->logs, a->batch));
	kernel_text(w, "#define STORE_LOG(row, x) arg.x%u[AT_q5 + (row) * arg.x%u] = store_%s_%s(x)\n", at,
	            down, type, type);
}

/* Returns how many keys, from the first one on, the last row sees. */
static int64_t seen_keys(const struct attention *a)
{
	int64_t seen = a->causal ? a->first + a->rows : a->keys;
	return seen < 1 ? 1 : seen < a->keys ? seen : a->keys;
}

/* Returns the tiles of a split of the keys, and in *splits the number of splits. It is one if there are enough
 * blocks, or if scratch memory has no room for the rows of all splits. */
static int64_t split_tiles(const struct attention *a, int64_t blocks, int keys, int64_t *splits)
{
	int64_t tiles = (seen_keys(a) + keys - 1) / keys, rows = a->rows < ROWS ? a->rows : ROWS,
	        part = blocks * rows * (a->width + 2) * (int64_t)sizeof(float),
	        room = KERNEL_SCRATCH_BYTES - KERNEL_COUNTERS * (int64_t)sizeof(uint64_t),
	        most = blocks <= KERNEL_COUNTERS ? room / part : 1, wanted = BLOCKS_WANTED / blocks;
	wanted = wanted < most ? wanted : most;
	wanted = wanted < tiles / LEAST_TILES ? wanted : tiles / LEAST_TILES;
	int64_t each = wanted > 1 ? (tiles + wanted - 1) / wanted : tiles;
	*splits = (tiles + each - 1) / each;
	return each;
}

static void write_splits(struct kernel_writer *w, int64_t splits)
{
	kernel_key(w, splits > 1);
	kernel_text(w, "#define SPLIT %d\n", splits > 1);
	kernel_text(w,
	            "#define PART(split, row) ((f32 *)(arg.head.scratch + %d) + ((group * (u32)arg.x15 + "
	            "(split)) * (arg.x4 < ROWS ? arg.x4 : ROWS) + (row)) * (WIDTH + 2))\n",
	            KERNEL_COUNTERS);
	w->launch->scratch = splits > 1;
}

static void write_tiled(struct kernel_writer *w, const struct attention *a, int keys)
{
	const struct rt_view *view[] = {a->out, a->q, a->k, a->v};
	const char *name = dtype_name(a->q->dtype);
	int64_t blocks = (a->rows + ROWS - 1) / ROWS, batches = kernel_axes_count(&a->x),
	        side = ATTENTION_CACHED_BYTES / (2 * a->keys * (a->depth + a->width));
	side = side < 1 ? 1 : side < batches ? side : batches;
	kernel_key(w, a->q->dtype);
	kernel_key(w, (unsigned)keys);
	kernel_key(w, (unsigned)(a->depth / 16));
	kernel_key(w, (unsigned)(a->width / 16));
	kernel_key(w, a->causal);
	for (int k = 0; k < 4; k++)
		kernel_pointer(w, view[k]->data, view[k]->dtype); /* x0 … x3 */
	kernel_extent(w, a->rows);                                /* x4 */
	kernel_extent(w, a->keys);                                /* x5 */
	kernel_extent(w, blocks);                                 /* x6 */
	kernel_extent(w, batches);                                /* x7 */
	kernel_extent(w, side);                                   /* x8 */
	for (int k = 0; k < 4; k++)
		kernel_extent(w, kernel_view_stride(view[k], a->batch)); /* x9 … x12 */
	kernel_extent(w, a->first < a->keys ? a->first : a->keys);       /* x13 */
	kernel_f64(w, a->scale * 1.4426950408889634);                    /* x14 */
	int64_t splits, each = split_tiles(a, blocks * batches, keys, &splits);
	kernel_extent(w, splits); /* x15 */
	kernel_extent(w, each);   /* x16 */
	kernel_grid(w, blocks * batches * splits);
	w->launch->shared = (unsigned)shared_bytes(a, keys);
	kernel_text(w,
	            "#define ELEMENT %s\n#define LOAD(x) load_%s_f32(x)\n#define STORE(x) store_%s_f32(x)\n",
	            name, name, name);
	kernel_text(w, "#define DEPTH %d\n#define WIDTH %d\n#define ROWS %d\n#define KEYS %d\n",
	            (int)a->depth, (int)a->width, ROWS, keys);
	kernel_text(w, "#define CAUSAL %d\n", a->causal);
	write_splits(w, splits);
	write_batches(w, a);
	bool adds = a->mask && a->mask->dtype != DTYPE_BOOL;
	kernel_attention_write_mask(w, a->mask, DTYPE_F32, "(f32)arg.x14");
	write_logs(w, a);
	kernel_text(w, "#define HAS_MASK %d\n#define SCALE %s\n", a->mask != NULL,
	            adds ? "1.0f" : "(f32)arg.x14");
	kernel_text(w, "%s%s", cuda_kernels_tensor_cores_cuh, cuda_kernels_attention_cuh);
}

static void write_plain(struct kernel_writer *w, const struct attention *a)
{
	const struct rt_view *view[] = {a->out, a->q, a->k, a->v};
	enum dtype t = a->q->dtype;
	const char *wide = dtype_name(dtype_wide(t));
	bool is_f64 = dtype_wide(t) == DTYPE_F64;
	int64_t across = (a->width + 63) / 64, tiles = (a->rows + 31) / 32 * across,
	        blocks = tiles * kernel_axes_count(&a->x);
	kernel_key(w, a->out->dtype);
	for (int k = 1; k < 4; k++)
		kernel_key(w, view[k]->dtype);
	kernel_key(w, a->causal);
	for (int k = 0; k < 4; k++)
		kernel_pointer(w, view[k]->data, view[k]->dtype); /* x0 … x3 */
	kernel_extent(w, blocks);                                 /* x4 */
	kernel_extent(w, tiles);                                  /* x5 */
	kernel_extent(w, across);                                 /* x6 */
	kernel_extent(w, a->rows);                                /* x7 */
	kernel_extent(w, a->keys);                                /* x8 */
	kernel_extent(w, a->depth);                               /* x9 */
	kernel_extent(w, a->width);                               /* x10 */
	for (int k = 0; k < 4; k++) {                             /* x11 … x18 */
		kernel_extent(w, kernel_view_stride(view[k], a->batch));
		kernel_extent(w, kernel_view_stride(view[k], a->batch + 1));
	}
	kernel_extent(w, a->first < a->keys ? a->first : a->keys); /* x19 */
	kernel_f64(w, a->scale);                                   /* x20 */
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_text(w, "typedef %s wide;\n#define CAUSAL %d\n#define EXP(x) exp_%s(x)\n", wide, a->causal,
	            wide);
	kernel_text(w, "#define INFINITE %s\n#define ADD(x, y, sum) %s(x, y, sum)\n",
	            is_f64 ? "INF_F64" : "INF_F32", is_f64 ? "fma" : "fmaf");
	for (int k = 1; k < 4; k++)
		kernel_text(w, "#define %c(x) load_%s_%s(x)\n", "OQKV"[k], dtype_name(view[k]->dtype), wide);
	kernel_text(w, "#define STORE(x) store_%s_%s(x)\n", dtype_name(a->out->dtype), wide);
	write_batches(w, a);
	kernel_attention_write_mask(w, a->mask, dtype_wide(t), NULL);
	write_logs(w, a);
	kernel_text(w, "%s", cuda_kernels_attention_plain_cuh);
}

bool kernel_write_attention(struct kernel_writer *w, const struct rt_task *t)
{
	struct attention a = {.out = &t->out,
	                      .q = &t->in[0],
	                      .k = &t->in[1],
	                      .v = &t->in[2],
	                      .mask = t->scalars >> RT_ATTENTION_MASK & 1 ? NULL : &t->in[RT_ATTENTION_MASK],
	                      .logs = t->scalars >> RT_ATTENTION_LOGS & 1 ? NULL : &t->in[RT_ATTENTION_LOGS],
	                      .batch = t->out.nd - 2,
	                      .causal = t->scalars >> RT_ATTENTION_FIRST & 1,
	                      .first = t->scalar[RT_ATTENTION_FIRST].i,
	                      .scale = t->scalar[RT_ATTENTION_SCALE].f};
	bool narrow = true;
	if (rt_view_count(a.out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	a.rows = a.out->n[a.batch], a.width = a.out->n[a.batch + 1];
	a.keys = a.k->n[a.batch], a.depth = a.k->n[a.batch + 1];
	a.x.stride = a.stride;
	kernel_axes_make(&a.x, (const struct rt_view *const[]){a.out, a.q, a.k, a.v, a.mask, a.logs}, 6,
	                 (1u << a.batch) - 1, 0);
	for (int k = 0; k < 3; k++)
		narrow = narrow && kernel_view_is_narrow(&t->in[k]);
	narrow = narrow && kernel_view_is_narrow(a.out) && (!a.mask || kernel_view_is_narrow(a.mask)) &&
	         (!a.logs || kernel_view_is_narrow(a.logs));
	kernel_offsets(w, narrow);
	int keys = tile_keys(w, &a);
	kernel_key(w, keys != 0);
	if (keys)
		write_tiled(w, &a, keys);
	else
		write_plain(w, &a);
	return true;
}
