/* kernel_write: a kernel being written; for kernel_*.c alone.
 *
 * A task becomes three things: the key, which says all that the text of its kernel depends on; the text; and
 * the arguments. Writers go through a task once and give all three in the same order; where a kernel with the
 * key is there already the text is left out. A fact of the task that a writer's text depends on is said to
 * kernel_key first. */
#ifndef HIRC_CUDA_KERNEL_WRITE_H
#define HIRC_CUDA_KERNEL_WRITE_H
#include "base/str.h"
#include "cuda/kernel.h"

enum {
	KERNEL_THREADS = 256, /* of a block, of all kernels */
	KERNEL_KEY_BYTES = 8192,
	KERNEL_PRELUDE = 8,
	KERNEL_SCRATCH_BYTES = 1 << 20, /* of a stream, zeroed at first; kernels leave its counters 0 */
	KERNEL_COUNTERS = 1024,         /* u64, at its beginning */
};

extern const char *const kernel_prelude[KERNEL_PRELUDE];

/* The arguments that every kernel begins with; as in the prelude. */
struct kernel_head {
	CUdeviceptr fault, scratch;
	int64_t label, iteration;
};

struct kernel_writer {
	bool wants_text;
	bool narrow;             /* the type `offset` has 32 bits, else 64 */
	struct buf fields, text; /* of struct arguments; the rest */
	unsigned arguments;
	size_t end; /* of the last argument, bytes */
	size_t key_bytes;
	unsigned char key[KERNEL_KEY_BYTES];
	struct cuda_launch *launch;
	bool too_large; /* key or arguments */
	char *why;      /* RT_WHY_BYTES */
};

/* A fact that the text depends on, 0 … 255. */
void kernel_key(struct kernel_writer *w, unsigned fact);
void kernel_text(struct kernel_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Decides the type `offset` of the text, of extents, strides and numbers of elements: 32 bits if narrow, else
 * 64, as in kernels that do not call it. To be called before the first argument. */
void kernel_offsets(struct kernel_writer *w, bool narrow);
/* Arguments; the number k: the text says arg.x<k>. */
unsigned kernel_pointer(struct kernel_writer *w, const void *at, enum dtype t);
/* An extent, stride or count, of type `offset`. ptxas 12.8 to 13.5 makes wrong code where a kernel takes 32
 * bits of the lesser of two arguments of 64: the upper half of the register keeps its old value. So extents
 * are no wider than the offsets that are computed from them. */
unsigned kernel_extent(struct kernel_writer *w, int64_t value);
/* An argument of 64 bits in all kernels: data, or any number where nothing is narrow. */
unsigned kernel_i64(struct kernel_writer *w, int64_t value);
unsigned kernel_f64(struct kernel_writer *w, double value);
unsigned kernel_divisor(struct kernel_writer *w, int64_t by); /* 1 … 2^31 - 1 */
/* The grid; 0: nothing to do. */
void kernel_grid(struct kernel_writer *w, int64_t blocks);

/* Names of the prelude: the unsigned type of an element's bits, and the name of a wide type. */
const char *kernel_bits(enum dtype t);

/* ---- axes
 *
 * Several views of the same extents, brought to the least number of axes. Axis nd-1 is the inner one. */
enum { KERNEL_VIEWS = 256 };

struct kernel_axes {
	int nd;
	int64_t n[RT_MAX_DIMS];
	int views;
	int64_t (*stride)[RT_MAX_DIMS]; /* [view], elements; not owned */
};

/* Makes the axes of views with the extents of the first, without axes of extent 1 and those not in the mask;
 * ordered by the strides of view `first`, the largest outside. A NULL view has strides of 0. */
void kernel_axes_make(struct kernel_axes *x, const struct rt_view *const *view, int views, unsigned mask,
                      int first);
int64_t kernel_axes_count(const struct kernel_axes *x);
/* Returns true if the count and the offsets in all views fit 31 bits. */
bool kernel_axes_is_narrow(const struct kernel_axes *x);
/* Returns true if the count and the offsets of the view fit 31 bits. */
bool kernel_view_is_narrow(const struct rt_view *v);
/* The stride along an axis; 0 if the axis has no second element, so that it fits if the view is narrow. */
int64_t kernel_view_stride(const struct rt_view *v, int axis);
/* Returns true if the elements of a view go in vectors of `per` along the inner axis: with stride 1 and
 * aligned, or all one element. */
bool kernel_axes_take_vectors(const struct kernel_axes *x, int view, const struct rt_view *v, int per);
/* The stride along the inner axis; 0 if there is none. */
int64_t kernel_axes_inner(const struct kernel_axes *x, int view);

/* Defines PLACE_<name>(number), which declares `<name>0` …, the coordinates of an element of the axes, of
 * type `offset`; `per` elements of the inner axis are one. */
void kernel_place(struct kernel_writer *w, const struct kernel_axes *x, int per, const char *name);
/* Defines AT_<name><view>, the view's offset at these coordinates. Strides are arguments. */
void kernel_offset(struct kernel_writer *w, const struct kernel_axes *x, int per, const char *name, int view);

/* The whole source of a task, and its launch but for the function and the head. False with why. */
bool kernel_source(const struct rt_task *t, struct buf *source, struct cuda_launch *launch, char *why);
/* Writes the source and the launch of cuda_reduce_arrays, as kernel_source does. */
bool kernel_source_arrays(enum reduce_op op, enum dtype t, void *out, const void *const *in, int n,
                          int64_t count, struct buf *source, struct cuda_launch *launch, char *why);

/* ---- writers: false with why */

bool kernel_write_chain(struct kernel_writer *w, const struct rt_task *t); /* elementwise tasks and units */
/* Copies whose sides have different inner axes. */
bool kernel_is_transpose(const struct rt_task *t);
void kernel_write_transpose(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_reduce(struct kernel_writer *w, const struct rt_task *t); /* and units with reductions */
bool kernel_write_softmax(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_gather(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_topk(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_buckets(struct kernel_writer *w, const struct rt_task *t); /* ROUTE, COUNT */
bool kernel_write_scatter(struct kernel_writer *w, const struct rt_task *t);
bool kernel_write_gemm(struct kernel_writer *w, const struct rt_task *t);
/* Dense arrays, as cuda_reduce_arrays. */
bool kernel_write_arrays(struct kernel_writer *w, enum reduce_op op, enum dtype t, void *out,
                         const void *const *in, int n, int64_t count);

#endif
