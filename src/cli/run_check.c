/* run_check: evaluates the reference for --check, and compares the outputs with it.
 *
 * The program of the source is evaluated before any pass, on the same input data. There is one exception: a
 * program that is evaluated rank by rank gets its missing layouts and `set`s from the run's passes. With
 * --check=FILE the program of another file is evaluated; its inputs and outputs pair with ours by position.
 * If a program is too large, only a sample of indices is evaluated. */
#include "base/source_read.h"
#include "cli/cli_progress.h"
#include "cli/missing_sets.h"
#include "cli/run.h"
#include "ir/print.h"
#include "ref/ref.h"
#include "ref/ref_sample.h"
#include "rt/rows.h"
#include <stdlib.h>
#include <string.h>

/* Loads the program to evaluate, before all passes. Takes its text from the module, since standard input
 * cannot be read twice. */
static struct module *load_source(struct run *r, struct diag *d, enum status *status)
{
	struct source *s;
	struct compile_options o = r->compile;
	if (*r->check)
		return (*status = source_read(d, r->check, &s)) == STATUS_OK
		           ? compile_source(d, s, &o, false, status)
		           : NULL;
	struct diag *silent =
	    diag_new(NULL, DIAG_TEXT, 0); /* its warnings were printed when the program was read */
	struct module *m = compile_source(silent, source_copy(r->m->source), &o, false, status);
	diag_finish(silent);
	diag_free(silent);
	return m ? m : compile_source(d, source_copy(r->m->source), &o, false, status);
}

static struct module *load_reference(struct run *r, struct diag *d, enum status *status)
{
	struct module *m = load_source(r, d, status);
	if (m && ref_is_host_level(m))
		missing_sets_add(m);
	return m;
}

static bool match_signature(struct diag *d, const struct module *a, value_id va, const struct module *b,
                            value_id vb, const char *what, unsigned k)
{
	struct data_map x, y;
	bool ok =
	    data_map_make(a, a->value.at[va].type, 0, &x) && data_map_make(b, b->value.at[vb].type, 0, &y);
	if (ok)
		ok = x.rank == y.rank && !memcmp(x.extent, y.extent, sizeof *x.extent * x.rank) &&
		     value_type(a, va)->dtype == value_type(b, vb)->dtype;
	data_map_free(&x);
	data_map_free(&y);
	if (!ok) {
		struct buf p = {0}, q = {0};
		ir_print_type((struct module *)a, a->value.at[va].type, &p);
		ir_print_type((struct module *)b, b->value.at[vb].type, &q);
		diag_error(d, E_REFERENCE_SIGNATURE, DIAG_NOWHERE, "%s %u is %s here and %s in the reference",
		           what, k + 1, p.at, q.at);
		buf_free(&p);
		buf_free(&q);
	}
	return ok;
}

static bool same_signature(struct run *r, struct diag *d, struct module *other)
{
	unsigned results = ref_result_count(other);
	bool ok = true;
	if (other->input.n != r->m->input.n || results != r->m->output.n) {
		diag_error(d, E_REFERENCE_SIGNATURE, DIAG_NOWHERE,
		           "numbers of inputs and of outputs: %u and %u here, %u and %u in the reference",
		           r->m->input.n, r->m->output.n, other->input.n, results);
		return false;
	}
	for (uint32_t k = 0; k < other->input.n; k++)
		ok &= match_signature(d, r->m, r->m->input.at[k].value, other, other->input.at[k].value,
		                      "input", k);
	for (unsigned k = 0; k < results; k++)
		ok &= match_signature(d, r->m, r->m->output.at[k], other, ref_result_value(other, k),
		                      "output", k);
	return ok;
}

/* Fills an input: the whole tensor, with the parts of a pending reduction as the last dimension. */
static bool fill_whole(const struct run *r, uint32_t k, struct ref_array *in, struct buf *why)
{
	value_id v = r->m->input.at[k].value;
	enum dtype t = value_type(r->m, v)->dtype;
	struct data_map map;
	int64_t count = 0;
	bool ok = data_map_make(r->m, r->m->value.at[v].type, 0, &map);
	if (ok) {
		in->nd = (int)map.rank;
		memcpy(in->n, map.extent, sizeof *map.extent * map.rank);
		count = map.total * map.parts;
		if (map.parts > 1 && in->nd < IR_MAX_LOGICAL)
			in->n[in->nd++] = map.parts;
		ok = count <= REF_MAX_ELEMENTS;
	}
	if (ok && dtype_is_float(t))
		in->data = mem_zalloc(sizeof *in->data * (size_t)(count + 1));
	else if (ok)
		in->ints = mem_zalloc(sizeof *in->ints * (size_t)(count + 1));
	ok = ok && data_whole(&r->source[k], t, count, in->data, in->ints, why);
	data_map_free(&map);
	return ok;
}

/* Fills an input at the indices that the reference samples. */
static bool fill_sampled(const struct run *r, uint32_t k, const struct ref_sample *s, value_id of,
                         struct ref_array *in, struct buf *why)
{
	value_id v = r->m->input.at[k].value;
	enum dtype t = value_type(r->m, v)->dtype;
	struct data_map map;
	int64_t total, count = 1;
	if (!data_map_make(r->m, r->m->value.at[v].type, 0, &map))
		return false;
	struct data_map some = {.arena = arena_new(), .rank = map.rank, .parts = 1, .group_n = map.rank};
	data_map_free(&map);
	in->nd = (int)some.rank;
	total = 1;
	for (unsigned a = some.rank; a-- > 0;) {
		struct ref_indices x = ref_sample_axis(s, of, a);
		struct data_group *g = &some.group[a];
		g->n = in->n[a] = x.n;
		g->linear = arena_new_array(some.arena, int64_t, (size_t)x.n + 1);
		g->offset = arena_new_array(some.arena, int64_t, (size_t)x.n + 1);
		for (int64_t i = 0; i < x.n; i++) {
			g->linear[i] = (x.at ? x.at[i] : i) * total;
			g->offset[i] = i * count;
		}
		some.extent[a] = x.extent;
		total *= x.extent;
		count *= x.n;
	}
	some.total = total;
	some.count = count;
	char *stored = mem_zalloc(dtype_bytes(t) * (size_t)(count + 1));
	bool ok = data_fill(&r->source[k], t, &some, stored, why);
	if (dtype_is_float(t)) {
		in->data = mem_zalloc(sizeof *in->data * (size_t)(count + 1));
		rt_row_load_f64(t, stored, 1, in->data, (size_t)count);
	} else {
		in->ints = mem_zalloc(sizeof *in->ints * (size_t)(count + 1));
		rt_row_load_i64(t, stored, 1, in->ints, (size_t)count);
	}
	free(stored);
	data_map_free(&some);
	return ok;
}

/* Fills the reference's inputs with our data, or with a sample of it if the reference evaluates a sample. */
static bool fill_inputs(struct run *r, struct diag *d, const struct module *other, const struct ref_sample *s,
                        struct ref_array *in)
{
	for (uint32_t k = 0; k < r->m->input.n; k++) {
		value_id v = r->m->input.at[k].value;
		struct buf why = {0};
		bool ok = s ? fill_sampled(r, k, s, other->input.at[k].value, &in[k], &why)
		            : fill_whole(r, k, &in[k], &why);
		if (!ok) {
			char name[DATA_NAME_BYTES];
			diag_error(d, E_INPUT_DATA, r->m->value.at[v].at, "input '%s': %s",
			           data_name(r->m, v, name),
			           why.at ? why.at : "it is too large to be checked");
			diag_note(d, DIAG_NOWHERE, "run without --check, or on smaller parameters");
			buf_free(&why);
			return false;
		}
	}
	return true;
}

/* Warns of elements that the program never writes, and that cannot be checked. */
static void warn_unwritten(struct run *r, struct diag *d, unsigned k, int64_t unwritten, int64_t count)
{
	char name[DATA_NAME_BYTES];
	value_id v = r->m->output.at[k];
	if (unwritten)
		diag_warning(d, W_ELEMENTS_UNWRITTEN, r->m->value.at[v].at,
		             "the program gives %lld of %lld elements of '%s' no value", (long long)unwritten,
		             (long long)count, data_name(r->m, v, name));
}

/* Lists the elements of each output that the reference has. */
static void make_samples(struct run *r, const struct module *other, const struct ref_sample *s)
{
	r->sample = mem_zalloc(sizeof *r->sample * (r->reference_n + 1));
	for (unsigned k = 0; k < r->reference_n; k++) {
		struct check_sample *c = &r->sample[k];
		value_id v = ref_result_value(other, k);
		c->rank = value_domain(other, v)->rank;
		for (unsigned a = 0; a < c->rank; a++) {
			struct ref_indices x = ref_sample_axis(s, v, a);
			c->extent[a] = x.extent;
			c->n[a] = x.n;
			c->place[a] = mem_alloc(sizeof *c->place[a] * (size_t)(x.extent + 1));
			for (int64_t i = 0; i < x.extent; i++)
				c->place[a][i] = x.at ? -1 : (int32_t)i;
			for (int64_t i = 0; i < x.n && x.at; i++)
				c->place[a][x.at[i]] = (int32_t)i;
		}
	}
}

enum { UNDECIDED_PERCENT = 5 /* a larger part of an output gives a warning */ };

static void warn_undecided(struct run *r, struct diag *d, unsigned k)
{
	char name[DATA_NAME_BYTES];
	struct check_reach reach;
	value_id v = r->m->output.at[k];
	check_reach(&r->want[k], &reach);
	if (reach.undecided * 100 > reach.known * UNDECIDED_PERCENT)
		diag_warning(d, W_UNDECIDED, r->m->value.at[v].at,
		             "%lld of %lld element%s of '%s' %s undecided: 0 would pass, too",
		             (long long)reach.undecided, (long long)reach.known, reach.known == 1 ? "" : "s",
		             data_name(r->m, v, name), reach.undecided == 1 ? "is" : "are");
}

static void make_wants(struct run *r, struct diag *d)
{
	r->want = mem_zalloc(sizeof *r->want * (r->reference_n + 1));
	for (unsigned k = 0; k < r->reference_n; k++) {
		const struct ref_array *a = &r->reference[k];
		int64_t count = 1, unwritten = 0, skipped = 0;
		for (int i = 0; i < a->nd; i++)
			count *= a->n[i];
		for (int64_t i = 0; i < count; i++) {
			skipped += a->state[i] == REF_SKIPPED;
			unwritten += a->state[i] == REF_POISON || a->state[i] == REF_ABSENT;
			a->state[i] = a->state[i] == REF_DEFINED;
		}
		warn_unwritten(r, d, k, unwritten, count);
		r->want[k] = (struct check_want){
		    .value = r->m->output.at[k],
		    .count = count,
		    .sampled = skipped > 0,
		    .data = a->data,
		    .ints = a->ints,
		    .known = a->state,
		    .error = a->error,
		    .sample = r->sample ? &r->sample[k] : NULL,
		};
		warn_undecided(r, d, k);
	}
}

/* Returns true if the transport may round each step of a sum, as NCCL does. Also true for `auto`, since its
 * transport is known only once the ranks run. */
static bool rounds_steps(const struct run *r)
{
	return rank_options_are_cuda(&r->ranks) && !r->ranks.gpu.exact_reductions &&
	       transport_kind_has(rank_options_transport(&r->ranks), TRANSPORT_ROUNDS_STEPS);
}

static void show_progress(void *run, double done)
{
	struct run *r = run;
	progress_show(r->progress, done, "the reference");
}

enum status run_reference(struct run *r, struct diag *d, int64_t ranks)
{
	enum status status = STATUS_DIAGNOSTICS;
	struct module *other = load_reference(r, d, &status);
	if (!other)
		return status;
	struct ref_array *in = mem_zalloc(sizeof *in * (r->m->input.n + 1));
	struct ref_options o = {.ranks = ranks,
	                        .streams = r->ranks.streams,
	                        .inputs = in,
	                        .input_n = r->m->input.n,
	                        .tf32 = r->ranks.gpu.allow_tf32,
	                        .fuses_functions = rank_options_are_cuda(&r->ranks),
	                        .limit = r->check_limit,
	                        .rounds_steps = rounds_steps(r),
	                        .progress = r->progress ? show_progress : NULL,
	                        .progress_to = r,
	                        .way_out = r->limit_way_out};
	struct ref_sample *sample = NULL;
	status = STATUS_DIAGNOSTICS;
	bool ok = same_signature(r, d, other);
	if (ok)
		sample = ref_sample_take(other, &o);
	if (sample && ref_sample_skips(sample))
		o.sample = sample;
	else
		o.smaller = sample;
	if (ok && fill_inputs(r, d, other, o.smaller, in)) {
		r->reference_n = r->m->output.n;
		r->reference = mem_zalloc(sizeof *r->reference * (r->reference_n + 1));
		struct source *outer = diag_set_source(d, other->source);
		status = ref_run(other, d, &o, r->reference);
		if (r->progress)
			progress_end(r->progress);
		diag_set_source(d, outer);
		if (status == STATUS_OK && o.smaller)
			make_samples(r, other, o.smaller);
		if (status == STATUS_OK)
			make_wants(r, d);
		else
			r->reference_n = 0;
	}
	for (uint32_t k = 0; k < r->m->input.n; k++)
		ref_array_free(&in[k]);
	free(in);
	ref_sample_free(sample);
	compile_free(other);
	return status;
}

bool run_reference_share(struct run *r, struct diag *d, const struct run *of)
{
	bool ok = r->m->output.n == of->m->output.n;
	if (!ok)
		diag_error(d, E_REFERENCE_SIGNATURE, DIAG_NOWHERE, "the program has %u outputs, not %u",
		           r->m->output.n, of->m->output.n);
	for (uint32_t k = 0; k < r->m->output.n && ok; k++)
		ok = match_signature(d, r->m, r->m->output.at[k], of->m, of->m->output.at[k], "output", k);
	if (!ok)
		return false;
	r->want = mem_zalloc(sizeof *r->want * (of->reference_n + 1));
	for (unsigned k = 0; k < of->reference_n; k++) {
		r->want[k] = of->want[k];
		r->want[k].value = r->m->output.at[k];
	}
	return true;
}

void run_reference_free(struct run *r)
{
	for (unsigned k = 0; k < r->reference_n; k++)
		ref_array_free(&r->reference[k]);
	for (unsigned k = 0; r->sample && k < r->reference_n; k++)
		for (unsigned a = 0; a < r->sample[k].rank; a++)
			free(r->sample[k].place[a]);
	free(r->reference);
	free(r->want);
	free(r->sample);
	r->reference = NULL;
	r->want = NULL;
	r->sample = NULL;
}
