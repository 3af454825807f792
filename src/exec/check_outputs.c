/* check_outputs: compares blocks, agrees on the largest error of all ranks, and prints it once. */
#include "exec/check_outputs.h"
#include "exec/data.h"
#include "exec/exec_gather.h"
#include "rt/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_RANKS = 8 };

/* The result of one rank for one output. */
struct finding {
	int64_t compared, wrong, unwritten; /* numbers of elements; an unwritten one is also wrong */
	int64_t worst_at, first_at;         /* logical index; -1: none */
	double worst, worst_bound;          /* largest error, and its bound */
	double got, want, bound;            /* the first wrong element */
	int64_t got_int, want_int;
	bool first_unwritten, first_known; /* first_known: the reference has a value for it */
};

/* Returns the error of one float: 0 if both are equal, infinity if one of them is NaN or infinite. */
static double error_of(double got, double want)
{
	if (got == want || (isnan(got) && isnan(want)))
		return 0;
	double e = fabs(got - want);
	return isnan(e) ? INFINITY : e;
}

/* Returns the place of a logical element in the reference; -1 if the reference does not have it. */
static int64_t place_of(const struct check_sample *s, int64_t linear)
{
	int64_t place = 0, row = 1;
	for (unsigned a = s ? s->rank : 0; a-- > 0; linear /= s->extent[a]) {
		int32_t at = s->place[a][linear % s->extent[a]];
		if (at < 0)
			return -1;
		place += at * row;
		row *= s->n[a];
	}
	return s ? place : linear;
}

static bool is_written(const uint64_t *written, int64_t at)
{
	return !written || written[at / 64] >> at % 64 & 1;
}

static double bound_of(const struct check_want *w, int64_t at)
{
	return w->error ? w->error[at] : 0;
}

/* Returns the distance of two integers, without the rounding of each to a float. */
static double distance(int64_t a, int64_t b)
{
	return a > b ? (double)((uint64_t)a - (uint64_t)b) : (double)((uint64_t)b - (uint64_t)a);
}

/* Compares the element at `from`. at: its place in the reference; -1: the reference does not have it. */
static void compare_element(const struct check_want *w, enum dtype t, const char *from, int64_t at,
                            int64_t linear, bool written, struct finding *f)
{
	bool is_float = dtype_is_float(t), known = at >= 0 && (!w->known || w->known[at]);
	double got = is_float ? rt_load_f64(t, from) : 0, e = 0, bound = known ? bound_of(w, at) : 0;
	int64_t got_int = is_float ? 0 : rt_load_i64(t, from);
	if (!known && written)
		return;
	if (known && is_float)
		e = error_of(got, w->data[at]);
	else if (known)
		e = w->ints ? distance(got_int, w->ints[at]) : error_of((double)got_int, w->data[at]);
	f->compared++;
	if (written && isfinite(bound) && (e > f->worst || f->worst_at < 0))
		f->worst = e, f->worst_at = linear, f->worst_bound = bound;
	if (e <= bound && written)
		return;
	f->wrong++;
	f->unwritten += !written;
	if (f->first_at >= 0)
		return;
	f->first_at = linear, f->first_unwritten = !written, f->first_known = known;
	f->got = got, f->got_int = got_int, f->bound = bound;
	f->want = known && w->data ? w->data[at] : 0;
	f->want_int = known && w->ints ? w->ints[at] : (int64_t)f->want;
}

static void compare_batches(const struct check_want *w, enum dtype t, const struct data_map *map,
                            const char *memory, const uint64_t *written, struct finding *f)
{
	struct data_cursor c = {0};
	struct data_batch b;
	int64_t bytes = (int64_t)dtype_bytes(t);
	while (data_map_next(map, &c, DATA_BATCH, &b))
		for (unsigned k = 0; k < b.n; k++)
			compare_element(w, t, memory + b.offset[k] * bytes, place_of(w->sample, b.linear[k]),
			                b.linear[k], is_written(written, b.offset[k]), f);
}

/* Counts the elements of this rank's part of a pending output that the run did not write. */
static void find_unwritten(const struct data_map *map, const uint64_t *written, struct finding *f)
{
	struct data_cursor c = {0};
	struct data_batch b;
	while (data_map_next(map, &c, DATA_BATCH, &b))
		for (unsigned k = 0; k < b.n; k++) {
			if (is_written(written, b.offset[k]))
				continue;
			f->compared++, f->wrong++, f->unwritten++;
			if (f->first_at < 0)
				f->first_at = b.linear[k], f->first_unwritten = true;
		}
}

void check_reach(const struct check_want *w, struct check_reach *out)
{
	bool zeros = true, decided = false;
	*out = (struct check_reach){.total = w->count, .sampled = w->sampled};
	for (unsigned a = 0; w->sample && a < w->sample->rank; a++) {
		out->total = a ? out->total * w->sample->extent[a] : w->sample->extent[a];
		out->sampled |= w->sample->n[a] < w->sample->extent[a];
	}
	for (int64_t i = 0; i < w->count; i++) {
		double want = w->ints ? (double)w->ints[i] : w->data[i], bound = bound_of(w, i);
		bool zero = want == 0, passes = fabs(want) <= bound || isinf(bound);
		if (w->known && !w->known[i])
			continue;
		out->known++;
		zeros &= zero;
		decided |= !zero && !passes;
		out->undecided += !zero && passes;
		out->compared += zero ? isfinite(bound) : !passes;
	}
	out->takes_zeros = !zeros && !decided;
}

/* Finds this rank's errors. Rank 0 finishes pending reductions and compares them. */
static enum status find_mismatch(struct rt_job *job, const struct module *m, const struct check_output *o,
                                 struct finding *f)
{
	enum dtype t = ir_type(m, o->type)->dtype;
	struct data_map map;
	enum status status = STATUS_OK;
	*f = (struct finding){.worst_at = -1, .first_at = -1};
	if (!data_map_make(m, o->type, job->rank, &map)) {
		rt_job_error(job, "an output is too large to be checked");
		return rt_job_fail(job, STATUS_INTERNAL);
	}
	if (map.parts > 1) {
		void *whole;
		status = exec_gather_output(job, m, o->type, o->memory, &whole);
		if (status == STATUS_OK && whole) { /* the whole output as one dense block */
			struct data_group dense = {.n = map.total};
			struct data_map all = {.rank = map.rank,
			                       .total = map.total,
			                       .count = map.total,
			                       .parts = 1,
			                       .group_n = 1};
			dense.linear = dense.offset =
			    mem_alloc(sizeof *dense.linear * (size_t)(map.total + 1));
			for (int64_t k = 0; k < map.total; k++)
				dense.linear[k] = k;
			all.group[0] = dense;
			compare_batches(o->want, t, &all, whole, NULL, f);
			free(dense.linear);
		}
		free(whole);
		if (o->memory)
			find_unwritten(&map, o->written, f);
	} else if (o->memory) {
		compare_batches(o->want, t, &map, o->memory, o->written, f);
	}
	rt_job_progress(job);
	data_map_free(&map);
	return status;
}

static void put_number(struct buf *b, bool is_float, double f, int64_t i)
{
	if (is_float && isnan(f))
		buf_puts(b, "nan"); /* the sign of NaN has no meaning */
	else if (is_float)
		buf_printf(b, "%.9g", f);
	else
		buf_puti(b, i);
}

/* Prints why the comparison of an output proves nothing. Returns false if it proves something. */
static bool print_vacuous(const struct module *m, const struct check_output *o)
{
	char name[DATA_NAME_BYTES];
	struct check_reach r;
	check_reach(o->want, &r);
	data_name(m, o->want->value, name);
	if (r.takes_zeros)
		fprintf(stderr,
		        "undecided: %s: an output of zeros would pass, as the tolerance of each of "
		        "its %lld elements that are not 0 is as large as the element\n",
		        name, (long long)r.undecided);
	else if (r.total && !r.compared)
		fprintf(stderr,
		        "undecided: %s: none of its %lld elements was compared: each may have any value\n",
		        name, (long long)r.total);
	else
		return false;
	return true;
}

/* The first wrong element, on one rank. */
static void put_first(const struct module *m, const struct check_output *o, const struct data_map *map,
                      int rank, const struct finding *f, struct buf *b)
{
	bool is_float = dtype_is_float(ir_type(m, o->type)->dtype);
	char name[DATA_NAME_BYTES];
	uint32_t line, column, at = m->value.at[o->want->value].at;
	buf_printf(b, "wrong: rank %d, %s", rank, data_name(m, o->want->value, name));
	data_index_text(map, f->first_at, b);
	if (!f->first_unwritten) {
		buf_puts(b, ": got ");
		put_number(b, is_float, f->got, f->got_int);
	} else {
		buf_puts(b, ": never written");
	}
	if (!f->first_unwritten || f->first_known) {
		buf_puts(b, ", want ");
		put_number(b, is_float, f->want, f->want_int);
	}
	if (!f->first_unwritten)
		buf_printf(b, " (tolerance %.2g)", f->bound);
	if (m->source && at != DIAG_NOWHERE) {
		source_position(m->source, at, &line, &column);
		buf_printf(b, "  (%s:%u)", source_name(m->source, at), line);
	}
	buf_putc(b, '\n');
}

/* ` (1 3)`, where only some ranks are wrong. */
static void put_ranks(const struct finding *all, int size, struct buf *b)
{
	int named = 0;
	for (int r = 0; r < size && named <= NAMED_RANKS; r++)
		if (all[r].wrong && named++ < NAMED_RANKS)
			buf_printf(b, "%s%d", named == 1 ? " (" : " ", r);
	buf_puts(b, named > NAMED_RANKS ? " …)" : ")");
}

/* The lines about one output that is wrong: its first wrong element, and how many there are on all ranks. */
static void print_wrong(struct rt_job *job, const struct module *m, const struct check_output *o,
                        const struct finding *all)
{
	char name[DATA_NAME_BYTES];
	struct data_map map;
	struct buf b = {0};
	int64_t wrong = 0, compared = 0, unwritten = 0, on = 0;
	if (!data_map_make(m, o->type, job->rank, &map))
		return;
	for (int r = 0; r < job->size; r++) {
		const struct finding *f = &all[r];
		wrong += f->wrong, compared += f->compared, unwritten += f->unwritten;
		if (f->wrong && !on++)
			put_first(m, o, &map, r, f, &b);
	}
	buf_printf(&b, "wrong: %lld of %lld elements of %s, on %lld of %d ranks", (long long)wrong,
	           (long long)compared, data_name(m, o->want->value, name), (long long)on, job->size);
	if (on < job->size)
		put_ranks(all, job->size, &b);
	if (unwritten)
		buf_printf(&b, "; %lld were never written", (long long)unwritten);
	fprintf(stderr, "%s\n", b.at);
	data_map_free(&map);
	buf_free(&b);
}

static bool is_exact(const struct check_want *w)
{
	for (int64_t i = 0; i < w->count; i++)
		if (bound_of(w, i) > 0)
			return false;
	return true;
}

static void add_reach(const struct check_output *out, unsigned n, struct check_verdict *to)
{
	struct check_reach one;
	for (unsigned k = 0; k < n; k++) {
		check_reach(out[k].want, &one);
		to->elements += one.total, to->compared += one.compared, to->undecided += one.undecided;
		to->sampled |= one.sampled;
	}
}

/* o: the output with the largest error, of which the ranks have found so much. */
static void make_verdict(struct rt_job *job, const struct module *m, const struct check_output *o,
                         const struct finding *all, struct check_verdict *out)
{
	struct data_map map;
	struct buf index = {0};
	char name[DATA_NAME_BYTES];
	int worst = -1;
	for (int r = 0; r < job->size; r++)
		if (all[r].worst_at >= 0 && (worst < 0 || all[r].worst > all[worst].worst))
			worst = r;
	out->exact = is_exact(o->want);
	if (worst < 0)
		return;
	out->error = all[worst].worst;
	out->tolerance = all[worst].worst_bound;
	if (!data_map_make(m, o->type, job->rank, &map))
		return;
	data_index_text(&map, all[worst].worst_at, &index);
	snprintf(out->at, sizeof out->at, "%s%s", data_name(m, o->want->value, name),
	         index.n ? index.at : "");
	out->rank = all[worst].worst > 0 ? worst : -1;
	data_map_free(&map);
	buf_free(&index);
}

enum status check_outputs(struct rt_job *job, const struct module *m, const struct check_output *out,
                          unsigned n, struct check_verdict *verdict)
{
	struct finding mine, *all = mem_zalloc(sizeof *all * (size_t)job->size * (n + 1));
	enum status status = STATUS_OK;
	bool wrong = false, vacuous = false;
	unsigned shown = 0;
	double worst = -1;
	for (unsigned k = 0; k < n && status == STATUS_OK; k++) {
		status = find_mismatch(job, m, &out[k], &mine);
		if (status == STATUS_OK)
			status = rt_job_allgather(job, "the check of an output", &mine, sizeof mine,
			                          all + (size_t)k * (size_t)job->size);
	}
	for (unsigned k = 0; k < n && status == STATUS_OK; k++) {
		const struct finding *f = all + (size_t)k * (size_t)job->size;
		int64_t bad = 0;
		for (int r = 0; r < job->size; r++) {
			bad += f[r].wrong;
			if (f[r].worst_at >= 0 && f[r].worst > worst)
				worst = f[r].worst, shown = k;
		}
		if (bad && job->rank == 0)
			print_wrong(job, m, &out[k], f);
		wrong |= bad != 0;
	}
	for (unsigned k = 0; k < n && status == STATUS_OK && !wrong && job->rank == 0; k++)
		vacuous |= print_vacuous(m, &out[k]);
	if (vacuous)
		fprintf(stderr,
		        "note: compare outputs before the operation that loses the digits, use a wider "
		        "dtype, or smaller inputs, as of random(scale=0.1)\n");
	if (status == STATUS_OK && !wrong) {
		bool *said = mem_zalloc(sizeof *said * (size_t)job->size);
		status = rt_job_allgather(job, "the verdict", &vacuous, sizeof vacuous, said);
		wrong = said[0];
		free(said);
	}
	if (status == STATUS_OK && wrong) {
		/* no rank ends before rank 0 has printed its messages */
		status = rt_job_barrier(job, "printing the wrong elements");
		status = status == STATUS_OK ? STATUS_WRONG : status;
	} else if (status == STATUS_OK && job->rank == 0) {
		*verdict = (struct check_verdict){.outputs = n, .rank = -1, .exact = true};
		add_reach(out, n, verdict);
		if (n)
			make_verdict(job, m, &out[shown], all + (size_t)shown * (size_t)job->size, verdict);
	}
	free(all);
	return status;
}
