/* kernel_write: the state of a kernel that is being written; only for kernel_*.c.
 *
 * Each task gives a key, a text and arguments. The key has all facts on which the text depends. A writer goes
 * through a task once and produces all three in the same order; if a kernel with the key exists already, the
 * text is dropped. A writer must pass a fact to kernel_key before its text depends on it. */
#ifndef HIRC_CUDA_KERNEL_WRITE_H
#define HIRC_CUDA_KERNEL_WRITE_H
#include "base/str.h"
#include "cuda/kernel.h"

enum {
	KERNEL_THREADS = 256, /* threads of a block, in all kernels */
	KERNEL_KEY_BYTES = 8192,
	KERNEL_PRELUDE = 10,
	KERNEL_SCRATCH_BYTES = 1 << 20, /* for each stream, initially zeroed; kernels leave the counters in
	                                   it at 0 */
	KERNEL_LEAST_SHARED = 48 << 10, /* bytes of shared memory that a block can have on every GPU */
	KERNEL_COUNTERS = 1024,         /* u64, at the beginning of scratch memory */
};

extern const char *const kernel_prelude[KERNEL_PRELUDE];

/* The first arguments of every kernel; the same as in the prelude. */
struct kernel_head {
	CUdeviceptr fault, scratch;
	int64_t label, iteration;
};

struct kernel_writer {
	bool wants_text;
	bool narrow;             /* the type `offset` has 32 bits; otherwise 64 */
	struct buf fields, text; /* text of struct arguments; the remaining text */
	unsigned arguments;
	size_t end; /* bytes up to the end of the last argument */
	size_t key_bytes;
	unsigned char key[KERNEL_KEY_BYTES];
	int shared; /* most bytes of shared memory that a block can have on this GPU */
	struct cuda_launch *launch;
	bool too_large; /* key or arguments are too large */
	char *why;      /* RT_WHY_BYTES */
};

/* Adds a fact on which the text depends, 0 … 255. */
void kernel_key(struct kernel_writer *w, unsigned fact);
void kernel_text(struct kernel_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets the type `offset`, used for extents, strides and numbers of elements: 32 bits if narrow, otherwise 64,
 * as in kernels that do not call this. Call it before the first argument. */
void kernel_offsets(struct kernel_writer *w, bool narrow);
/* The functions below add an argument and return its number k; the text names it arg.x<k>. */
unsigned kernel_pointer(struct kernel_writer *w, const void *at, enum dtype t);
/* Adds an extent, stride or count of type `offset`. Extents are never wider than the offsets computed from
 * them, because of an error in ptxas 12.8 to 13.5: where a kernel takes 32 bits of the lesser of two 64-bit
 * arguments, the upper half of the register keeps its old value. */
unsigned kernel_extent(struct kernel_writer *w, int64_t value);
/* Adds an argument of 64 bits in all kernels: data, or any number in a kernel that is never narrow. */
unsigned kernel_i64(struct kernel_writer *w, int64_t value);
unsigned kernel_f64(struct kernel_writer *w, double value);
unsigned kernel_divisor(struct kernel_writer *w, int64_t by); /* 1 … 2^31 - 1 */
/* Sets the grid. 0: there is nothing to do. */
void kernel_grid(struct kernel_writer *w, int64_t blocks);

/* Names in the prelude: the unsigned type of an element's bits, and the wide type. */
const char *kernel_bits(enum dtype t);

/*---- axes
 *
 * Several views with the same extents, and as few axes as possible. Axis nd-1 is the inner one. */
enum { KERNEL_VIEWS = 256 };

struct kernel_axes {
	int nd;
	int64_t n[RT_MAX_DIMS];
	int views;
	int64_t (*stride)[RT_MAX_DIMS]; /* by view, in elements; not owned */
};

/* Makes the axes of views with the extents of the first one. Drops axes of extent 1 and axes outside the
 * mask. Orders them by the strides of view `first`, the largest outside. A NULL view has strides of 0. */
void kernel_axes_make(struct kernel_axes *x, const struct rt_view *const *view, int views, unsigned mask,
                      int first);
int64_t kernel_axes_count(const struct kernel_axes *x);
/* Returns true if the count and the offsets in all views fit 31 bits. */
bool kernel_axes_is_narrow(const struct kernel_axes *x);
/* Returns true if the count and the offsets of the view fit 31 bits. */
bool kernel_view_is_narrow(const struct rt_view *v);
/* Returns the stride along an axis; 0 if the extent is 1, so that the stride fits 32 bits if the view is
 * narrow. */
int64_t kernel_view_stride(const struct rt_view *v, int axis);
/* Returns true if the elements of a view can be accessed in vectors of `per` along the inner axis: stride 1
 * and aligned, or all the same element. */
bool kernel_axes_take_vectors(const struct kernel_axes *x, int view, const struct rt_view *v, int per);
/* Returns the stride along the inner axis; 0 if there is none. */
int64_t kernel_axes_inner(const struct kernel_axes *x, int view);

/* Writes PLACE_<name>(number), which declares `<name>0` …, the coordinates of an element of the axes, of type
 * `offset`. `per` elements of the inner axis count as one. */
void kernel_place(struct kernel_writer *w, const struct kernel_axes *x, int per, const char *name);
/* Writes AT_<name><view>, the view's offset at these coordinates. Strides are arguments. */
void kernel_offset(struct kernel_writer *w, const struct kernel_axes *x, int per, const char *name, int view);

/* Writes the whole source of a task, and fills in its launch except function and head. Returns false with the
 * reason in why. */
bool kernel_source(const struct rt_task *t, int shared, struct buf *source, struct cuda_launch *launch,
                   char *why);
/* Writes source and launch of cuda_reduce_arrays, as kernel_source does. */
bool kernel_source_arrays(enum reduce_op op, enum dtype t, void *out, const void *const *in, int n,
                          int64_t count, struct buf *source, struct cuda_launch *launch, char *why);

/* ---- writers: false with why */

bool kernel_write_chain(struct kernel_writer *w, const struct rt_task *t); /* elementwise tasks, and units
                                                                              of them */
/* Returns true for copies between views with different inner axes. */
bool kernel_is_transpose(const struct rt_task *t);
void kernel_write_transpose(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_reduce(struct kernel_writer *w, const struct rt_task *t); /* and units with reductions */
bool kernel_write_scan(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_softmax(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_norm(struct kernel_writer *w, const struct rt_task *t); /* and units with a norm */
bool kernel_write_attention(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_gradient(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_gradient_sums(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_gather(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_grouped(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_put(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_topk(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_buckets(struct kernel_writer *w, const struct rt_task *t); /* ROUTE, COUNT */
bool kernel_write_scatter(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_gemm(struct kernel_writer *w, const struct rt_task *t);
/* Reduces dense arrays, as cuda_reduce_arrays. */
bool kernel_write_arrays(struct kernel_writer *w, enum reduce_op op, enum dtype t, void *out,
                         const void *const *in, int n, int64_t count);

#endif
