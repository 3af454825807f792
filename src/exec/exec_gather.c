/* exec_gather: every rank sends its elements in the order of its map, in rounds of bounded size. Rank 0
 * knows the maps of all ranks and puts the elements in their places. */
#include "exec/exec_gather.h"
#include "base/checked.h"
#include "rt/rows.h"
#include <stdlib.h>
#include <string.h>

enum { ROUND_BYTES = 1 << 26, MAX_CHUNK = 1 << 20, MIN_CHUNK = 1 << 12 };

/* Packs the next elements of a rank's block. */
static void pack_elements(const struct data_map *map, struct data_cursor *c, const char *memory, size_t bytes,
                          int64_t count, char *to)
{
	struct data_batch b;
	while (count > 0 && data_map_next(map, c, count < DATA_BATCH ? (unsigned)count : DATA_BATCH, &b)) {
		for (unsigned k = 0; k < b.n; k++)
			memcpy(to + k * bytes, memory + b.offset[k] * (int64_t)bytes, bytes);
		to += b.n * bytes;
		count -= b.n;
	}
}

/* The part of an output that a rank holds, known to rank 0. */
struct held {
	struct data_map map;
	struct data_cursor cursor;
};

struct target {
	enum dtype dtype;
	char *whole;
	double *sum; /* pending reduction: the sums so far; NULL: none is pending */
	int64_t *integer;
	unsigned char *seen; /* pending reduction: a first value was stored */
	enum reduce_op op;
};

static void combine_element(struct target *t, int64_t at, const char *from)
{
	double x = rt_load_f64(t->dtype, from), *to = &t->sum[at];
	if (!t->seen[at]) {
		*to = x;
		t->seen[at] = 1;
		return;
	}
	switch (t->op) {
	case REDUCE_PROD:
		*to *= x;
		break;
	case REDUCE_MIN:
		*to = x < *to || x != x ? x : *to;
		break;
	case REDUCE_MAX:
		*to = x > *to || x != x ? x : *to;
		break;
	default:
		*to += x;
	}
}

static void unpack_elements(struct target *t, struct held *s, size_t bytes, int64_t count, const char *from)
{
	struct data_batch b;
	while (count > 0 &&
	       data_map_next(&s->map, &s->cursor, count < DATA_BATCH ? (unsigned)count : DATA_BATCH, &b)) {
		for (unsigned k = 0; k < b.n; k++, from += bytes) {
			if (t->sum)
				combine_element(t, b.linear[k], from);
			else
				memcpy(t->whole + b.linear[k] * (int64_t)bytes, from, bytes);
		}
		count -= b.n;
	}
}

static enum reduce_op pending_op(const struct module *m, type_id t)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	for (unsigned i = d->rank; i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL)
			return d->axis[i].reduce;
	return REDUCE_SUM;
}

/* Drops copies of a part, which ranks hold along axes over which the value is replicated. Each part must
 * count once, on the first rank that holds it. */
static void drop_copies(struct held *s, int ranks)
{
	for (int r = 0; r < ranks; r++)
		for (int q = 0; q < r && s[r].map.count; q++)
			if (s[q].map.count && s[q].map.part == s[r].map.part &&
			    s[q].map.count == s[r].map.count && s[q].map.group_n == s[r].map.group_n) {
				struct data_cursor a = {0}, b = {0};
				struct data_batch x, y;
				if (data_map_next(&s[q].map, &a, 1, &x) &&
				    data_map_next(&s[r].map, &b, 1, &y) && x.linear[0] == y.linear[0])
					s[r].map.part = -1;
			}
}

static void finish_reduction(struct target *t, int64_t total, int64_t parts)
{
	size_t bytes = dtype_bytes(t->dtype);
	for (int64_t k = 0; k < total; k++) {
		if (!t->seen[k])
			continue;
		double x = t->op == REDUCE_AVG ? t->sum[k] / (double)parts : t->sum[k];
		if (dtype_wide(t->dtype) == DTYPE_I64)
			rt_store_i64(t->dtype, t->whole + k * (int64_t)bytes, (int64_t)x);
		else
			rt_store_f64(t->dtype, t->whole + k * (int64_t)bytes, x);
	}
}

enum status exec_gather_output(struct rt_job *job, const struct module *m, type_id type, const void *memory,
                               void **whole)
{
	struct target t = {.dtype = ir_type(m, type)->dtype, .op = pending_op(m, type)};
	size_t bytes = dtype_bytes(t.dtype);
	struct data_map mine;
	struct data_cursor cursor = {0};
	struct held *held = NULL;
	int64_t longest = 0, *counts = mem_zalloc(sizeof *counts * (size_t)job->size);
	int64_t chunk = ROUND_BYTES / job->size;
	enum status status = STATUS_OK;
	*whole = NULL;
	chunk = (chunk > MAX_CHUNK ? MAX_CHUNK : chunk < MIN_CHUNK ? MIN_CHUNK : chunk) / (int64_t)bytes;
	if (!data_map_make(m, type, job->rank, &mine)) {
		rt_job_error(job, "an output is too large to be gathered");
		status = rt_job_fail(job, STATUS_INTERNAL);
	}
	int64_t count = memory ? mine.count : 0;
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "an output's size", &count, sizeof count, counts);
	for (int r = 0; r < job->size && status == STATUS_OK; r++)
		longest = counts[r] > longest ? counts[r] : longest;
	if (status == STATUS_OK && job->rank == 0) {
		held = mem_zalloc(sizeof *held * (size_t)job->size);
		t.whole = mem_alloc((size_t)mine.total * bytes + 1);
		memset(t.whole, 0xff, (size_t)mine.total * bytes);
		for (int r = 0; r < job->size; r++)
			data_map_make(m, type, r, &held[r].map);
		if (mine.parts > 1) {
			t.sum = mem_zalloc(sizeof *t.sum * (size_t)(mine.total + 1));
			t.seen = mem_zalloc((size_t)mine.total + 1);
			drop_copies(held, job->size);
		}
	}
	char *packed = mem_zalloc((size_t)chunk * bytes),
	     *all = mem_zalloc((size_t)chunk * bytes * (size_t)job->size);
	for (int64_t first = 0; first < longest && status == STATUS_OK; first += chunk) {
		int64_t round = longest - first < chunk ? longest - first : chunk;
		int64_t here = count - first < round ? count - first : round;
		if (here > 0)
			pack_elements(&mine, &cursor, memory, bytes, here, packed);
		status = rt_job_allgather(job, "an output's elements", packed, (size_t)round * bytes, all);
		for (int r = 0; r < job->size && held && status == STATUS_OK; r++) {
			int64_t theirs = counts[r] - first < round ? counts[r] - first : round;
			if (theirs > 0 && !(t.sum && held[r].map.part < 0))
				unpack_elements(&t, &held[r], bytes, theirs,
				                all + (size_t)r * (size_t)round * bytes);
		}
		rt_job_progress(job);
	}
	if (t.sum && status == STATUS_OK)
		finish_reduction(&t, mine.total, mine.parts);
	for (int r = 0; r < job->size && held; r++)
		data_map_free(&held[r].map);
	data_map_free(&mine);
	free(held);
	free(packed);
	free(all);
	free(counts);
	free(t.sum);
	free(t.seen);
	if (status == STATUS_OK)
		*whole = t.whole;
	else
		free(t.whole);
	return status;
}
