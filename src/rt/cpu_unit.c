/* cpu_unit: runs several pointwise tasks and reductions in one walk over their elements.
 *
 *     A = X + B; Y = gelu(A); s = sum of Y over axis 1        of [1000, 512] elements
 *         for 8 rows at a time: A := X + B, Y := gelu(A), s gets the sums of 8 rows
 *
 * A block of elements fits in the cache, so A is never written to memory. A block is a part of the axes
 * that a reduction keeps times a part of the axes that it removes. The parts of the removed axes follow
 * one another in order, so that sums have the same order and rounding as those of separate tasks. Within
 * a block, the removed axes are the inner loops. But if elements of different results are closer
 * together than those of one result, the kept axes are, and a row of elements is added to a row of
 * results. Every step rounds to the type of its result. */
#include "rt/cpu.h"
#include "rt/fault.h"
#include <stdatomic.h>
#include <stdlib.h>

enum {
	BLOCK = 4096,
	KEPT = 512,    /* results at once, for long reductions whose results are close together */
	KEPT_ROWS = 8, /* results at once, for others */
};

/* Axes first … end-1, cut into parts: axes before `cut` one element at a time, axis `cut` in chunks,
 * later axes whole. */
struct part {
	int first, end, cut;
	int64_t chunk;
};

struct walk {
	struct rt_unit *unit;
	char *why;
	int nd;
	uint8_t axis[RT_MAX_DIMS]; /* the axes in the order of the walk */
	int64_t extent[RT_MAX_DIMS], at[RT_MAX_DIMS],
	    n[RT_MAX_DIMS]; /* all of it; position and size of the current block */
	struct part kept, removed;
	int64_t removed_count;
	bool kept_inside;   /* the kept axes are the inner loops of a block */
	char *local;        /* blocks of BLOCK elements with up to 8 bytes each */
	union cpu_sum *sum; /* BLOCK sums for each reduction */
};

static bool is_reduction(const struct rt_step *s)
{
	return s->task.kernel == RT_TASK_REDUCE;
}

static int count_task_operands(const struct rt_task *t)
{
	return t->kernel == RT_TASK_POINTWISE ? pointwise_operands(t->op)
	                                      : t->kernel != RT_TASK_FILL && t->kernel != RT_TASK_UNIFORM;
}

static const struct rt_view *get_step_space(const struct rt_step *s)
{
	return is_reduction(s) ? &s->task.in[0] : &s->task.out;
}

/* ---- the order of the walk */

/* Returns the stride of an axis in memory that the unit writes or, if it is 0 there, in memory that it
 * reads. */
static int64_t stride_of(const struct rt_unit *u, int axis)
{
	for (unsigned k = u->steps; k-- > 0;)
		if (!is_reduction(&u->step[k]) && !u->step[k].local[0])
			return llabs(u->step[k].task.out.stride[axis]);
	for (unsigned k = 0; k < u->steps; k++)
		for (int i = 0; i < count_task_operands(&u->step[k].task); i++) {
			const struct rt_task *t = &u->step[k].task;
			if (!u->step[k].local[i + 1] && !(t->scalars >> i & 1) && t->in[i].stride[axis])
				return llabs(t->in[i].stride[axis]);
		}
	return 0;
}

/* Returns the smallest distance between elements of different results, or of one result. */
static int64_t least_stride(const struct walk *w, unsigned axes)
{
	const struct rt_view *v = get_step_space(&w->unit->step[0]);
	int64_t least = INT64_MAX;
	for (int d = 0; d < v->nd; d++)
		if ((axes >> d & 1) && v->n[d] > 1 && stride_of(w->unit, d) < least)
			least = stride_of(w->unit, d);
	return least;
}

/* Sorts the kept axes by decreasing stride; the removed axes keep their order. */
static void order_axes(struct walk *w, unsigned axes)
{
	const struct rt_view *v = get_step_space(&w->unit->step[0]);
	int kept = 0, removed = 0, first;
	w->nd = v->nd;
	for (int d = 0; d < v->nd; d++)
		removed += axes >> d & 1;
	w->kept_inside = least_stride(w, ~axes) < least_stride(w, axes);
	w->kept.first = first = w->kept_inside ? removed : 0;
	w->removed.first = w->kept_inside ? 0 : w->nd - removed;
	w->kept.end = w->kept.first + w->nd - removed;
	w->removed.end = w->removed.first + removed;
	removed = w->removed.first;
	for (int d = 0; d < v->nd; d++) {
		if (axes >> d & 1) {
			w->axis[removed++] = (uint8_t)d;
			continue;
		}
		int at = first + kept++;
		for (; at > first && stride_of(w->unit, w->axis[at - 1]) < stride_of(w->unit, d); at--)
			w->axis[at] = w->axis[at - 1];
		w->axis[at] = (uint8_t)d;
	}
	for (int d = 0; d < w->nd; d++)
		w->extent[d] = v->n[w->axis[d]];
}

static int64_t count_part_elements(const struct walk *w, struct part p)
{
	int64_t n = 1;
	for (int d = p.first; d < p.end; d++)
		n *= w->extent[d];
	return n;
}

/* Cuts the axes into parts of at most `limit` elements. */
static void cut_part(const struct walk *w, struct part *p, int64_t limit)
{
	int64_t inner = 1;
	p->cut = p->end;
	while (p->cut > p->first && inner * w->extent[p->cut - 1] <= limit)
		inner *= w->extent[--p->cut];
	if (p->cut > p->first)
		p->chunk = limit / inner, p->cut--;
	else
		p->cut = p->first - 1;
}

static void start_part(struct walk *w, struct part p)
{
	for (int d = p.first; d < p.end; d++) {
		w->at[d] = 0;
		w->n[d] = d < p.cut ? 1 : d > p.cut ? w->extent[d] : p.chunk;
		if (w->n[d] > w->extent[d])
			w->n[d] = w->extent[d];
	}
}

/* Moves to the next part. Returns false after the last one, and is then at the first part again. */
static bool advance_part(struct walk *w, struct part p)
{
	for (int d = p.cut; d >= p.first; d--) {
		w->at[d] += w->n[d];
		int64_t left = w->extent[d] - w->at[d];
		if (left > 0) {
			w->n[d] = w->n[d] < left ? w->n[d] : left;
			return true;
		}
		w->at[d] = 0;
		w->n[d] = d < p.cut ? 1 : p.chunk < w->extent[d] ? p.chunk : w->extent[d];
	}
	return false;
}

/* ---- a block */

/* Returns the current block of a view. */
static struct rt_view block_view(const struct walk *w, const struct rt_view *v, uint8_t local)
{
	struct rt_view out = {.dtype = v->dtype, .nd = w->nd};
	int64_t dense = 1, offset = 0;
	for (int d = w->nd; d-- > 0;) {
		out.n[d] = w->n[d];
		out.stride[d] = local ? dense : v->stride[w->axis[d]];
		offset += w->at[d] * out.stride[d];
		dense *= w->n[d];
	}
	out.data = local ? w->local + (size_t)(local - 1) * BLOCK * sizeof(int64_t)
	                 : (char *)v->data + offset * (int64_t)dtype_bytes(v->dtype);
	return out;
}

/* Makes the numbers of the elements those of the current block. */
static void number_block(const struct walk *w, const struct rt_task *whole, struct rt_task *t)
{
	uint64_t first = (uint64_t)whole->scalar[0].i;
	for (int d = 0; d < w->nd; d++) {
		t->in[0].stride[d] = whole->in[0].stride[w->axis[d]];
		first += (uint64_t)w->at[d] * (uint64_t)t->in[0].stride[d];
	}
	t->scalar[0].i = (int64_t)first;
}

/* Adds the block to the sums of its results. */
static enum status add_block(struct walk *w, const struct rt_task *t, union cpu_sum *sum)
{
	struct rt_view in = t->in[0];
	int64_t each = 1, results = 1;
	for (int d = 0; d < w->nd; d++)
		*(d >= w->kept.first && d < w->kept.end ? &results : &each) *= w->n[d];
	if (!rt_view_is_dense(&in)) {
		in = rt_view_dense(w->local + w->unit->locals * BLOCK * sizeof(int64_t), in.dtype, in.nd,
		                   in.n);
		enum status status = cpu_copy(&in, &t->in[0]);
		if (status != STATUS_OK)
			return status;
	}
	for (int64_t k = 0; k < each && w->kept_inside; k++)
		cpu_sum_add_each(t->reduce, in.dtype, sum,
		                 (char *)in.data + k * results * (int64_t)dtype_bytes(in.dtype),
		                 (size_t)results);
	if (!w->kept_inside)
		cpu_sum_add_rows(t->reduce, in.dtype, sum, results, in.data, (size_t)each);
	return STATUS_OK;
}

static enum status run_block(struct walk *w)
{
	enum status status = STATUS_OK;
	union cpu_sum *sum = w->sum;
	for (unsigned k = 0; k < w->unit->steps && status == STATUS_OK; k++) {
		const struct rt_step *s = &w->unit->step[k];
		struct rt_task t = s->task;
		for (int i = 0; i < count_task_operands(&t); i++)
			if (!(t.scalars >> i & 1))
				t.in[i] = block_view(w, &s->task.in[i], s->local[i + 1]);
		if (is_reduction(s)) {
			status = add_block(w, &t, sum);
			sum += BLOCK;
			continue;
		}
		t.out = block_view(w, &s->task.out, s->local[0]);
		if (t.kernel == RT_TASK_UNIFORM)
			number_block(w, &s->task, &t);
		status = t.kernel == RT_TASK_COPY      ? cpu_copy(&t.out, &t.in[0])
		         : t.kernel == RT_TASK_FILL    ? cpu_fill(&t.out, t.scalar[0])
		         : t.kernel == RT_TASK_BITCAST ? cpu_bitcast(&t.out, &t.in[0])
		         : t.kernel == RT_TASK_UNIFORM ? cpu_uniform(&t)
		                                       : cpu_pointwise(&t, w->why);
	}
	return status;
}

/* ---- results of reductions */

static void start_sums(struct walk *w)
{
	union cpu_sum *sum = w->sum;
	int64_t results = 1;
	for (int d = w->kept.first; d < w->kept.end; d++)
		results *= w->n[d];
	for (unsigned k = 0; k < w->unit->steps; k++) {
		const struct rt_task *t = &w->unit->step[k].task;
		if (!is_reduction(&w->unit->step[k]))
			continue;
		for (int64_t i = 0; i < results; i++)
			cpu_sum_start(t->reduce, t->in[0].dtype, &sum[i]);
		sum += BLOCK;
	}
}

/* Stores the results of the current part of the kept axes. */
static enum status store_sums(const struct walk *w)
{
	const union cpu_sum *sum = w->sum;
	for (unsigned k = 0; k < w->unit->steps; k++) {
		const struct rt_task *t = &w->unit->step[k].task;
		if (!is_reduction(&w->unit->step[k]))
			continue;
		if (t->reduce == REDUCE_AVG && !w->removed_count && !dtype_is_float(t->in[0].dtype) &&
		    t->out.dtype != DTYPE_BOOL) {
			rt_fault_text(RT_FAULT_EMPTY, 0, 0, w->why);
			return STATUS_DIAGNOSTICS;
		}
		int64_t index[RT_MAX_DIMS] = {0}, size = (int64_t)dtype_bytes(t->out.dtype), i = 0;
		for (int d = w->nd; d >= w->kept.first;) {
			char *at = t->out.data;
			for (d = w->kept.first; d < w->kept.end; d++)
				at += (w->at[d] + index[d]) * t->out.stride[w->axis[d]] * size;
			cpu_sum_store(t->reduce, t->in[0].dtype, sum[i++], w->removed_count, t->out.dtype,
			              at);
			for (d = w->kept.end - 1; d >= w->kept.first && ++index[d] == w->n[d]; d--)
				index[d] = 0;
		}
		sum += BLOCK;
	}
	return STATUS_OK;
}

/* ---- all */

static enum status walk_blocks(struct walk *w)
{
	enum status status = STATUS_OK;
	start_part(w, w->kept);
	do {
		start_sums(w);
		start_part(w, w->removed);
		do
			status = w->removed_count ? run_block(w) : STATUS_OK;
		while (status == STATUS_OK && w->removed_count && advance_part(w, w->removed));
		if (status == STATUS_OK)
			status = store_sums(w);
	} while (status == STATUS_OK && advance_part(w, w->kept));
	return status;
}

static enum status run_walk(struct walk *w, struct cpu_lane *lane)
{
	unsigned axes = 0;
	size_t sums = 0;
	for (unsigned k = 0; k < w->unit->steps; k++) {
		if (!is_reduction(&w->unit->step[k]))
			continue;
		axes |= w->unit->step[k].task.axes;
		sums++;
	}
	order_axes(w, axes);
	int64_t kept = count_part_elements(w, w->kept);
	w->removed_count = count_part_elements(w, w->removed);
	if (!kept)
		return STATUS_OK;
	int64_t each = w->removed_count ? w->removed_count : 1;
	int64_t results = each < BLOCK ? BLOCK / each : 1;
	int64_t least = w->kept_inside ? KEPT : KEPT_ROWS;
	if (results < least && sums)
		results = least;
	results = results < kept ? results : kept;
	cut_part(w, &w->kept, results);
	cut_part(w, &w->removed, BLOCK / results);
	w->local = cpu_scratch(lane, 0, sizeof(int64_t) * BLOCK * (w->unit->locals + 1), w->why);
	w->sum = cpu_scratch(lane, 1, sizeof *w->sum * BLOCK * (sums + 1), w->why);
	return w->local && w->sum ? walk_blocks(w) : STATUS_DIAGNOSTICS;
}

enum status cpu_unit(struct cpu_lane *lane, struct rt_unit *unit, char *why)
{
	struct walk w = {.unit = unit, .why = why};
	enum status status = run_walk(&w, lane);
	atomic_store_explicit(&unit->busy, false, memory_order_release);
	return status;
}
