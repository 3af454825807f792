/* cpu: the functions that the files of the device `cpu` share; private to src/rt.
 *
 * Kernels iterate over their views row by row. cpu_walk merges and orders the axes so that rows are
 * long; then a row function loads, computes and stores up to RT_ROW elements at once. */
#ifndef HIRC_RT_CPU_H
#define HIRC_RT_CPU_H
#include "rt/device.h"

enum { CPU_WALK_VIEWS = 4, CPU_SCRATCH = 7 };

/* State that a lane keeps between tasks. */
struct cpu_lane {
	int threads;                 /* threads for a contraction; 0: its library decides */
	struct cpu_onednn *onednn;   /* NULL: not used yet */
	const struct cpu_blas *blas; /* likewise */
	int64_t warm[2][2][2]; /* the largest product for which BLAS is ready; by f64, a and b transposed */
	void *at[CPU_SCRATCH];
	size_t bytes[CPU_SCRATCH];
};

/* Returns at least `bytes`, aligned to 64 bytes; NULL with `why` set if there is no memory. */
void *cpu_scratch(struct cpu_lane *lane, int which, size_t bytes, char *why);

/* The axes over which several views of equal extents iterate together. */
struct cpu_walk {
	int views, nd;
	int64_t n[RT_MAX_DIMS];
	int64_t stride[CPU_WALK_VIEWS][RT_MAX_DIMS]; /* in bytes */
	char *base[CPU_WALK_VIEWS];
	bool empty;
};

/* Sorts the axes of view[0] by decreasing stride, removes those of extent 1, and merges neighbours if
 * all views allow it. A NULL view has stride 0. */
void cpu_walk_start(struct cpu_walk *w, int views, const struct rt_view *const *view);
/* Calls row(arg, addresses of the first elements, n, byte strides) for rows along the last axis, with at
 * most `limit` elements each. Stops at the first failure. */
typedef enum status cpu_row(void *arg, char *const *at, size_t n, const int64_t *stride);
enum status cpu_walk_rows(const struct cpu_walk *w, size_t limit, cpu_row *row, void *arg);

/* The running result of a reduction: f64 for floats, i64 for integers. */
union cpu_sum {
	double f64;
	int64_t i64;
};
/* Reduce elements of a type: start, add n elements, end. removed: number of elements added. */
void cpu_sum_start(enum reduce_op op, enum dtype t, union cpu_sum *sum);
void cpu_sum_add(enum reduce_op op, enum dtype t, union cpu_sum *sum, const void *at, size_t n);
/* Adds n elements to each of several sums. The elements are dense, those of one sum after the other. */
void cpu_sum_add_rows(enum reduce_op op, enum dtype t, union cpu_sum *sum, int64_t sums, const void *at,
                      size_t n);
/* Adds an element to each of n sums. */
void cpu_sum_add_each(enum reduce_op op, enum dtype t, union cpu_sum *sum, const void *at, size_t n);
void cpu_sum_store(enum reduce_op op, enum dtype t, union cpu_sum sum, int64_t removed, enum dtype out,
                   void *at);

enum status cpu_copy(const struct rt_view *out, const struct rt_view *in);
enum status cpu_bitcast(const struct rt_view *out, const struct rt_view *in);
enum status cpu_fill(const struct rt_view *out, struct rt_scalar value);
enum status cpu_iota(const struct rt_task *t);
enum status cpu_uniform(const struct rt_task *t);
enum status cpu_pointwise(const struct rt_task *t, char *why);
enum status cpu_reduce(const struct rt_task *t, char *why);
enum status cpu_scan(const struct rt_task *t);
enum status cpu_softmax(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_norm(struct cpu_lane *lane, const struct rt_task *t, char *why);
/* Returns the address of the element at an index. */
char *cpu_address(const struct rt_view *v, const int64_t *index);
/* Moves on to the next index of the axes that are not in the set `inner`, whose indices stay. Returns false after
 * the last one. */
bool cpu_next_index(const struct rt_view *v, unsigned inner, int64_t *index);
/* Returns the matrix of the last two axes at an index of the axes before these, which has zeros for the two. */
struct rt_view cpu_matrix_at(const struct rt_view *v, const int64_t *index);
enum status cpu_attention(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_gradient(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_gradient_sums(const struct rt_task *t);
enum status cpu_unit(struct cpu_lane *lane, struct rt_unit *unit, char *why);
enum status cpu_gather(const struct rt_task *t, char *why);
enum status cpu_topk(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_put(const struct rt_task *t, char *why);
enum status cpu_route(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_count(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_scatter(const struct rt_task *t, char *why);
enum status cpu_gemm(struct cpu_lane *lane, const struct rt_task *t, char *why);
enum status cpu_grouped(struct cpu_lane *lane, const struct rt_task *t, char *why);
void cpu_gemm_prepare(struct cpu_lane *lane, const struct rt_task *t);

#endif
