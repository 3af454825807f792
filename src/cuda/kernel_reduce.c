/* kernel_reduce: kernels for reductions over axes, alone or in a unit with the steps that make their
 * elements.
 *
 *     s = sum of gelu(X) over axis 1, X[4096, 512]      along: 512 / 4 vectors, apart: 4096 results
 *         a block has 256 threads = 8 results x 32 threads, which sum together
 *     s over axis 0, of 512 results                     apart: 512 / 4 vectors, along: 4096
 *         a block has 32 vectors of results x 8 threads; 256 blocks share the elements of a vector
 *
 * "along" means along the reduced axes, "apart" along the kept axes.
 *
 * Sums are in f64 or i64, as on the CPU. The order in which threads' sums are added depends only on the task,
 * so that every run gives the same numbers. Blocks that share a result write their sums to scratch memory,
 * and the last block to end adds them up. */
#include "cuda/kernel_steps.h"
#include "rt/fault.h"
#include <math.h>
#include <stdlib.h>

enum { BLOCKS_WANTED = 1024, FEW_GROUPS = 256, RESULTS_WIDE = 32 };

struct reduction {
	struct kernel_steps *s;
	struct kernel_axes along, apart; /* along: removed axes; apart: kept axes */
	int views;                       /* number of views of `apart`: those of the steps, then the
	                                    results' */
	bool apart_inside;               /* results lie closer together in memory than the elements of one
	                                    sum */
	int per;                         /* number of elements of a vector */
	int64_t groups, splits;          /* number of blocks apart, and along */
	unsigned threads_along, threads_apart, unroll;
	unsigned length, results, each; /* numbers of arguments: vectors along, vectors apart, vectors
	                                   along for each block; */
	unsigned groups_at, splits_at, counted, first_out;
};

static const char *wide_of(const struct reduction *r, unsigned k)
{
	return dtype_is_float(r->s->step[r->s->reduction[k]].t->in[0].dtype) ? "f64" : "i64";
}

static enum reduce_op op_of(const struct reduction *r, unsigned k)
{
	return r->s->step[r->s->reduction[k]].t->reduce;
}

static unsigned power_from(int64_t n, unsigned most)
{
	unsigned p = 1;
	while (p < n && p < most)
		p *= 2;
	return p;
}

/* Returns the smallest stride of the operands in memory along an axis of the mask. */
static int64_t least_stride(const struct kernel_steps *s, unsigned mask)
{
	int64_t least = INT64_MAX;
	for (int d = 0; d < s->view[0]->nd; d++)
		for (int k = 0; k < s->views && (mask >> d & 1) && s->view[0]->n[d] > 1; k++)
			if (s->view[k]->stride[d] && llabs(s->view[k]->stride[d]) < least)
				least = llabs(s->view[k]->stride[d]);
	return least;
}

/* Divides vectors, along and apart, among threads and blocks. */
static void divide_threads(struct reduction *r, int64_t length, int64_t results)
{
	if (r->apart_inside) {
		r->threads_apart = power_from(results, RESULTS_WIDE);
		r->threads_along = KERNEL_THREADS / r->threads_apart;
	} else {
		r->threads_along = power_from((length + 3) / 4, KERNEL_THREADS);
		r->threads_apart = KERNEL_THREADS / r->threads_along;
	}
	r->groups = (results + r->threads_apart - 1) / r->threads_apart;
	r->splits = 1;
	int64_t room =
	    (KERNEL_SCRATCH_BYTES / 8 - KERNEL_COUNTERS) /
	    ((int64_t)r->s->reductions * r->groups * r->threads_apart * (r->apart_inside ? r->per : 1));
	if (r->groups < FEW_GROUPS) {
		int64_t parts = length / (r->threads_along * 8);
		r->splits = BLOCKS_WANTED / r->groups;
		r->splits = parts < r->splits ? parts : r->splits;
		r->splits = room < r->splits ? room : r->splits;
		r->splits = r->splits < 2 ? 1 : r->splits;
	}
}

/* ---- text */

/* Returns the start value of a reduction. */
static const char *initial(const struct reduction *r, unsigned k, char text[32])
{
	enum reduce_op op = op_of(r, k);
	enum dtype t = r->s->step[r->s->reduction[k]].t->in[0].dtype;
	double real = reduce_identity_f64(op, t);
	int64_t whole = reduce_identity_i64(op, t);
	if (dtype_is_float(t) && isinf(real))
		return real < 0 ? "-INF_F64" : "INF_F64";
	if (!dtype_is_float(t) && (whole == INT64_MIN || whole == INT64_MAX))
		return whole < 0 ? "I64_MIN" : "I64_MAX";
	snprintf(text, 32, "%lld", dtype_is_float(t) ? (long long)real : (long long)whole);
	return text;
}

/* Writes `to` = `to` op `from`. */
static void fold(struct kernel_writer *w, const struct reduction *r, unsigned k, const char *to,
                 const char *from)
{
	enum reduce_op op = op_of(r, k);
	if (op == REDUCE_MIN || op == REDUCE_MAX)
		kernel_text(w, "%s = %s %s %s || %s != %s ? %s : %s;\n", to, to, op == REDUCE_MIN ? "<" : ">",
		            from, to, to, to, from);
	else
		kernel_text(w, "%s = %s_%s(%s, %s);\n", to, reduce_op_folds_by(op), wide_of(r, k), to, from);
}

/* Returns the number of a thread's sums; a vector along gives one. */
static int sums(const struct reduction *r)
{
	return r->apart_inside ? r->per : 1;
}

static void bits_of(struct kernel_writer *w, const struct reduction *r, unsigned k, const char *x)
{
	kernel_text(w, wide_of(r, k)[0] == 'f' ? "bits_f64(%s)" : "(u64)(%s)", x);
}

static const char *value_of(const struct reduction *r, unsigned k)
{
	return wide_of(r, k)[0] == 'f' ? "f64_of_bits" : "(i64)";
}

/* Writes a thread's sums to part[], and adds those of threads that sum together to the first thread's. */
static void write_tree(struct kernel_writer *w, const struct reduction *r, unsigned k)
{
	kernel_text(w, "EACH_THREAD { LOOP (e, %d) part[e * THREADS + thread] = ", sums(r));
	char own[32];
	snprintf(own, sizeof own, "OWN(sum%u)[e]", k);
	bits_of(w, r, k, own);
	kernel_text(w, "; }\n");
	if (r->threads_along == 1)
		return;
	kernel_text(
	    w, "for (u32 half = %u; half > 0; half /= 2)\nEACH_THREAD { if (ALONG < half) LOOP (e, %d) {\n",
	    r->threads_along / 2, sums(r));
	kernel_text(w, "%s to = %s(part[e * THREADS + thread]);\n", wide_of(r, k), value_of(r, k));
	kernel_text(w, "%s from = %s(part[e * THREADS + thread + half * %u]);\n", wide_of(r, k),
	            value_of(r, k), r->apart_inside ? r->threads_apart : 1);
	fold(w, r, k, "to", "from");
	kernel_text(w, "part[e * THREADS + thread] = ");
	bits_of(w, r, k, "to");
	kernel_text(w, ";\n} }\n");
}

static void write_result(struct kernel_writer *w, const struct reduction *r, unsigned k)
{
	const struct rt_task *t = r->s->step[r->s->reduction[k]].t;
	int view = r->s->views + (int)k;
	bool mean = t->reduce == REDUCE_AVG && t->out.dtype != DTYPE_BOOL;
	kernel_text(w, "EACH_THREAD { offset q = FIRST_APART; if (ALONG == 0 && q < arg.x%u) {\nPLACE_q(q)\n",
	            r->results);
	kernel_text(w, "LOOP (e, %d) {\n%s sum = %s(part[e * THREADS + thread]);\n", sums(r), wide_of(r, k),
	            value_of(r, k));
	if (mean)
		kernel_text(w, "sum = sum / (%s)arg.x%u;\n", wide_of(r, k), r->counted);
	kernel_text(w, "arg.x%u[AT_q%d + e * arg.x%u] = store_%s_%s(sum);\n} } }\n", r->first_out + 2 * k,
	            view, r->first_out + 2 * k + 1, dtype_name(t->out.dtype), wide_of(r, k));
}

/* Writes the place of a block's sum in scratch memory: by reduction, group, sum of the group, split. */
static void write_slot(struct kernel_writer *w, const struct reduction *r, unsigned k, const char *split)
{
	kernel_text(
	    w, "arg.head.scratch[%d + (((i64)%u * arg.x%u + group) * %u + e * %u + APART) * arg.x%u + %s]",
	    KERNEL_COUNTERS, k, r->groups_at, r->threads_apart * (unsigned)sums(r), r->threads_apart,
	    r->splits_at, split);
}

static void write_split_end(struct kernel_writer *w, const struct reduction *r)
{
	unsigned n = r->s->reductions;
	kernel_text(w,
	            "EACH_THREAD { if (thread == 0) last[0] = TAKE_NUMBER(&arg.head.scratch[group]) == "
	            "(u64)arg.x%u - 1; }\nif (!last[0]) return;\n",
	            r->splits_at);
	kernel_text(w, "EACH_THREAD { if (thread == 0) arg.head.scratch[group] = 0; FENCE; }\n");
	for (unsigned k = 0; k < n; k++) {
		char own[32], text[32];
		snprintf(own, sizeof own, "OWN(sum%u)[e]", k);
		kernel_text(w, "EACH_THREAD { LOOP (e, %d) {\n%s = %s;\n", sums(r), own, initial(r, k, text));
		kernel_text(w, "for (i64 s = ALONG; s < arg.x%u; s += %u) {\n%s from = %s(FRESH(&",
		            r->splits_at, r->threads_along, wide_of(r, k), value_of(r, k));
		write_slot(w, r, k, "s");
		kernel_text(w, "));\n");
		fold(w, r, k, own, "from");
		kernel_text(w, "} } }\n");
		write_tree(w, r, k);
		write_result(w, r, k);
	}
}

static void write_ends(struct kernel_writer *w, const struct reduction *r)
{
	for (unsigned k = 0; k < r->s->reductions; k++) {
		write_tree(w, r, k);
		if (r->splits == 1) {
			write_result(w, r, k);
			continue;
		}
		kernel_text(w, "EACH_THREAD { if (ALONG == 0) LOOP (e, %d) ", sums(r));
		write_slot(w, r, k, "split");
		kernel_text(w, " = part[e * THREADS + thread];\nFENCE; }\n");
	}
	if (r->splits > 1)
		write_split_end(w, r);
}

/* Writes the loop over a thread's elements. `unroll` vectors are loaded before the steps that use them. */
static void write_loop(struct kernel_writer *w, const struct reduction *r)
{
	const struct kernel_steps *s = r->s;
	char text[32];
	kernel_text(w, "EACH_THREAD {\n");
	for (unsigned k = 0; k < s->reductions; k++)
		kernel_text(w, "LOOP (e, %d) OWN(sum%u)[e] = %s;\n", r->per, k, initial(r, k, text));
	kernel_text(w, "offset q = FIRST_APART;\nif (q < arg.x%u) {\nPLACE_q(q)\n", r->results);
	kernel_text(w, "offset end = arg.x%u < (split + 1) * arg.x%u ? arg.x%u : (split + 1) * arg.x%u;\n",
	            r->length, r->each, r->length, r->each);
	kernel_text(w, "for (offset first = split * arg.x%u + (offset)ALONG; first < end; first += %u) {\n",
	            r->each, r->threads_along * r->unroll);
	kernel_steps_declare(w, s, r->per, (int)r->unroll);
	for (int pass = 0; pass < 2; pass++) {
		kernel_text(
		    w,
		    "LOOP (u, %u) {\noffset number = first + u * %u;\nif (number < end) {\nPLACE_p(number)\n",
		    r->unroll, r->threads_along);
		if (pass == 0) {
			kernel_steps_load(w, s, r->per, "q", "p", false);
		} else {
			kernel_steps_open(w, s, r->per);
			kernel_text(w, "LOOP (e, %d) {\n", r->per);
			kernel_steps_compute(w, s);
			kernel_steps_keep(w, s);
			for (unsigned k = 0; k < s->reductions; k++) {
				char own[32], x[16];
				snprintf(own, sizeof own, "OWN(sum%u)[e]", k);
				snprintf(x, sizeof x, "x%u", k);
				fold(w, r, k, own, x);
			}
			kernel_text(w, "}\n");
			kernel_steps_store(w, s, r->per, "q", "p", false);
		}
		kernel_text(w, "}\n}\n");
	}
	kernel_text(w, "}\n}\n");
	for (unsigned k = 0; k < s->reductions && !r->apart_inside && r->per > 1; k++) {
		char own[32], from[32];
		snprintf(own, sizeof own, "OWN(sum%u)[0]", k);
		snprintf(from, sizeof from, "OWN(sum%u)[e]", k);
		kernel_text(w, "LOOP (e, %d) if (e > 0) ", r->per);
		fold(w, r, k, own, from);
	}
	kernel_text(w, "}\n");
}

static void write_text(struct kernel_writer *w, const struct reduction *r)
{
	const struct kernel_steps *s = r->s;
	kernel_place(w, &r->apart, r->apart_inside ? r->per : 1, "q");
	kernel_place(w, &r->along, r->apart_inside ? 1 : r->per, "p");
	for (int k = 0; k < r->views; k++)
		kernel_offset(w, &r->apart, r->apart_inside ? r->per : 1, "q", k);
	for (int k = 0; k < s->views; k++)
		kernel_offset(w, &r->along, r->apart_inside ? 1 : r->per, "p", k);
	if (r->apart_inside)
		kernel_text(w, "#define APART (thread %% %u)\n#define ALONG (thread / %u)\n",
		            r->threads_apart, r->threads_apart);
	else
		kernel_text(w, "#define ALONG (thread %% %u)\n#define APART (thread / %u)\n",
		            r->threads_along, r->threads_along);
	kernel_text(w, "#define FIRST_APART (group * %u + (offset)APART)\n", r->threads_apart);
	kernel_text(w, "KERNEL\n{\nSHARED u64 part[%d * THREADS];\n", sums(r));
	for (unsigned k = 0; k < s->reductions; k++)
		kernel_text(w, "PRIVATE(%s, sum%u, %d);\n", wide_of(r, k), k, r->per);
	if (r->splits > 1)
		kernel_text(w,
		            "SHARED u32 last[1];\noffset group = BLOCK / (u32)arg.x%u, split = BLOCK %% "
		            "(u32)arg.x%u;\n",
		            r->splits_at, r->splits_at);
	else
		kernel_text(w, "for (offset group = BLOCK, split = 0; group < arg.x%u; group += BLOCKS) {\n",
		            r->groups_at);
	write_loop(w, r);
	write_ends(w, r);
	kernel_text(w, r->splits > 1 ? "}\n" : "}\n}\n");
}

static bool write_reduce(struct kernel_writer *w, struct reduction *r)
{
	struct kernel_steps *s = r->s;
	kernel_offsets(w, kernel_axes_is_narrow(&r->along) && kernel_axes_is_narrow(&r->apart));
	struct kernel_axes *inside = r->apart_inside ? &r->apart : &r->along;
	r->per = kernel_steps_vector_apart(s, inside, r->apart_inside ? &r->along : &r->apart);
	int64_t along = kernel_axes_count(&r->along), apart = kernel_axes_count(&r->apart);
	if (!along)
		r->along.nd = 0;
	int64_t length = r->apart_inside ? along : along / r->per,
	        results = r->apart_inside ? apart / r->per : apart;
	divide_threads(r, length, results);
	r->unroll = s->views <= 2 ? 4 : s->views <= 4 ? 2 : 1;
	kernel_steps_arguments(w, s, inside);
	kernel_key(w, r->apart_inside);
	kernel_key(w, (unsigned)r->per);
	kernel_key(w, power_from(r->threads_along, 256) / 2);
	kernel_key(w, r->splits > 1);
	r->length = kernel_extent(w, length);
	r->results = kernel_extent(w, results);
	int64_t each = (length + r->splits - 1) / r->splits;
	r->each = kernel_extent(w, each);
	r->groups_at = kernel_extent(w, r->groups);
	r->splits_at = kernel_extent(w, r->splits);
	r->counted = kernel_extent(w, along);
	for (unsigned k = 0; k < s->reductions; k++) {
		const struct rt_view *out = &s->step[s->reduction[k]].t->out;
		unsigned at = kernel_pointer(w, out->data, out->dtype);
		r->first_out = k ? r->first_out : at;
		kernel_extent(w, kernel_axes_inner(&r->apart, s->views + (int)k));
	}
	int64_t blocks = r->groups * r->splits;
	w->launch->scratch = r->splits > 1;
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	write_text(w, r);
	return true;
}

static bool is_mean_of_none(const struct kernel_steps *s, int64_t along)
{
	for (unsigned k = 0; k < s->reductions; k++) {
		const struct rt_task *t = s->step[s->reduction[k]].t;
		if (t->reduce == REDUCE_AVG && !dtype_is_float(t->in[0].dtype) &&
		    t->out.dtype != DTYPE_BOOL && !along)
			return true;
	}
	return false;
}

static int64_t count_of(const struct rt_view *v, unsigned mask)
{
	int64_t n = 1;
	for (int d = 0; d < v->nd; d++)
		n *= mask >> d & 1 ? v->n[d] : 1;
	return n;
}

/* Returns the view that decides the order of axes: the written one; otherwise the first read one that does
 * not repeat along them. */
static int find_ordering_view(const struct kernel_steps *s, unsigned mask)
{
	for (unsigned k = s->steps; k-- > 0;)
		if (s->step[k].out >= 0)
			return s->step[k].out;
	for (int k = 0; k < s->views; k++)
		for (int d = 0; d < s->view[k]->nd; d++)
			if ((mask >> d & 1) && s->view[k]->stride[d])
				return k;
	return 0;
}

bool kernel_write_reduce(struct kernel_writer *w, const struct rt_task *t)
{
	struct kernel_steps *s = malloc(sizeof *s);
	bool ok = s && kernel_steps_of(w, t, s);
	if (!ok) {
		free(s);
		return false;
	}
	struct reduction r = {.s = s, .views = s->views + (int)s->reductions};
	const struct rt_view *view[KERNEL_VIEWS], *space = &s->step[s->reduction[0]].t->in[0];
	if (!s->views) /* the summed values are computed, not read */
		s->view[s->views++] = space, s->loads[0] = false, r.views++;
	int64_t kept = count_of(space, ~s->removed), along = count_of(space, s->removed);
	if (kept && is_mean_of_none(s, along)) {
		rt_fault_text(RT_FAULT_EMPTY, 0, 0, w->why);
		ok = false;
	} else if (kept) {
		memcpy(view, s->view, sizeof *view * (size_t)s->views);
		for (unsigned k = 0; k < s->reductions; k++)
			view[s->views + (int)k] = &s->step[s->reduction[k]].t->out;
		r.along.stride = malloc(sizeof *r.along.stride * (size_t)r.views);
		r.apart.stride = malloc(sizeof *r.apart.stride * (size_t)r.views);
		kernel_axes_make(&r.along, view, s->views, s->removed, find_ordering_view(s, s->removed));
		kernel_axes_make(&r.apart, view, r.views, ~s->removed, find_ordering_view(s, ~s->removed));
		r.apart_inside = least_stride(s, ~s->removed) < least_stride(s, s->removed);
		ok = write_reduce(w, &r);
		free(r.along.stride);
		free(r.apart.stride);
	} else {
		kernel_grid(w, 0);
	}
	free(s);
	return ok;
}
