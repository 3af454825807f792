/* run_check: the reference evaluation that --check compares with.
 *
 * The program of the source is evaluated as it stands, before any pass (but that which infers layouts, where
 * the program itself cuts tensors without), on the same input data; with
 * --check=FILE that of another file, whose inputs and outputs pair with ours by position. */
#include "cli/run.h"
#include "ir/edit.h"
#include "ir/print.h"
#include <stdlib.h>
#include <string.h>

/* Whether a statement of the host level takes a part of a tensor that has no layout yet. */
static bool slices_open_layout(const struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		if (!(op_traits(m, op) & TRAIT_VIEW) && !(m->op.at[op].flags & OP_ASYNC))
			continue;
		for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
			if (m->value.at[op_read(m, op, k)].flags & VALUE_OPEN)
				return true;
	}
	return false;
}

/* Gives the tensors the layouts that the run gives them. */
static struct module *with_layouts(struct module *m, struct diag *d, enum status *status)
{
	struct pipeline p;
	struct pipeline_options o = {0};
	*status = pipeline_parse(d, "propagate-shardings", &p) ? pipeline_run(m, d, &p, &o) : STATUS_INTERNAL;
	if (*status == STATUS_OK)
		return m;
	compile_free(m);
	return NULL;
}

/* The program to evaluate. Standard input cannot be read twice: its text is kept by the module. */
static struct module *load(struct run *r, struct diag *d, enum status *status)
{
	struct source *s;
	struct compile_options o = r->compile;
	const char *path = *r->check ? r->check : r->path;
	if (!*r->check)
		s = source_from_text(r->m->source->name, r->m->source->text, r->m->source->size);
	else if ((*status = source_read(d, path, &s)) != STATUS_OK)
		return NULL;
	struct module *m = compile_source(d, s, &o, false, status);
	return m && slices_open_layout(m) ? with_layouts(m, d, status) : m;
}

static bool fits(struct diag *d, const struct module *a, value_id va, const struct module *b, value_id vb,
                 const char *what, unsigned k)
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
		diag_error(d, DIAG_NOWHERE, "%s %u is %s here and %s in the reference", what, k + 1, p.at,
		           q.at);
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
		diag_error(d, DIAG_NOWHERE,
		           "the program has %u inputs and %u outputs, the reference %u and %u", r->m->input.n,
		           r->m->output.n, other->input.n, results);
		return false;
	}
	for (uint32_t k = 0; k < other->input.n; k++)
		ok &= fits(d, r->m, r->m->input.at[k].value, other, other->input.at[k].value, "input", k);
	for (unsigned k = 0; k < results; k++)
		ok &= fits(d, r->m, r->m->output.at[k], other, ref_result_value(other, k), "output", k);
	return ok;
}

/* Our input data as whole tensors. */
static bool fill_inputs(struct run *r, struct diag *d, struct ref_array *in)
{
	for (uint32_t k = 0; k < r->m->input.n; k++) {
		value_id v = r->m->input.at[k].value;
		enum rt_dtype t = (enum rt_dtype)value_type(r->m, v)->dtype;
		struct data_map map;
		struct buf why = {0};
		int64_t count = 0;
		bool ok = data_map_make(r->m, r->m->value.at[v].type, 0, &map);
		if (ok) {
			in[k].nd = (int)map.rank;
			memcpy(in[k].n, map.extent, sizeof *map.extent * map.rank);
			count = map.total * map.parts;
			if (map.parts > 1 && in[k].nd < IR_MAX_LOGICAL)
				in[k].n[in[k].nd++] = map.parts;
			ok = count <= REF_MAX_ELEMENTS;
		}
		if (ok && rt_dtype_is_float(t))
			in[k].data = mem_zalloc(sizeof *in[k].data * (size_t)(count + 1));
		else if (ok)
			in[k].ints = mem_zalloc(sizeof *in[k].ints * (size_t)(count + 1));
		ok = ok && data_whole(&r->source[k], t, count, in[k].data, in[k].ints, &why);
		data_map_free(&map);
		if (!ok) {
			char name[DATA_NAME_BYTES];
			diag_error(d, r->m->value.at[v].at, "input '%s': %s", data_name(r->m, v, name),
			           why.at ? why.at : "it is too large to be checked");
			diag_note(d, DIAG_NOWHERE, "run without --check, or on smaller parameters");
			buf_free(&why);
			return false;
		}
	}
	return true;
}

/* What the program itself never writes cannot be checked. */
static void warn_unwritten(struct run *r, struct diag *d, unsigned k, int64_t known, int64_t count)
{
	char name[DATA_NAME_BYTES];
	value_id v = r->m->output.at[k];
	if (known < count)
		diag_warning(d, r->m->value.at[v].at,
		             "the program gives %lld of %lld elements of '%s' no value",
		             (long long)(count - known), (long long)count, data_name(r->m, v, name));
}

static void make_wants(struct run *r, struct diag *d)
{
	r->want = mem_zalloc(sizeof *r->want * (r->reference_n + 1));
	for (unsigned k = 0; k < r->reference_n; k++) {
		const struct ref_array *a = &r->reference[k];
		int64_t count = 1, known = 0;
		for (int i = 0; i < a->nd; i++)
			count *= a->n[i];
		for (int64_t i = 0; i < count; i++)
			known += a->state[i] = a->state[i] == REF_DEFINED;
		warn_unwritten(r, d, k, known, count);
		r->want[k] = (struct check_want){
		    .value = r->m->output.at[k],
		    .data = a->data,
		    .ints = a->ints,
		    .known = a->state,
		    .exact = a->exact,
		    .error = a->error,
		};
	}
}

enum status run_reference(struct run *r, struct diag *d, int64_t ranks)
{
	enum status status = STATUS_DIAGNOSTICS;
	struct module *other = run_check_checkable(r, d) ? load(r, d, &status) : NULL;
	if (!other)
		return status;
	struct ref_array *in = mem_zalloc(sizeof *in * (r->m->input.n + 1));
	struct ref_options o = {
	    .ranks = ranks, .streams = r->streams, .inputs = in, .input_n = r->m->input.n};
	status = STATUS_DIAGNOSTICS;
	if (same_signature(r, d, other) && fill_inputs(r, d, in)) {
		r->reference_n = r->m->output.n;
		r->reference = mem_zalloc(sizeof *r->reference * (r->reference_n + 1));
		struct source *outer = diag_set_source(d, other->source);
		status = ref_run(other, d, &o, r->reference);
		diag_set_source(d, outer);
		if (status == STATUS_OK)
			make_wants(r, d);
		else
			r->reference_n = 0;
	}
	for (uint32_t k = 0; k < r->m->input.n; k++)
		ref_array_free(&in[k]);
	free(in);
	compile_free(other);
	return status;
}

void run_reference_free(struct run *r)
{
	for (unsigned k = 0; k < r->reference_n; k++)
		ref_array_free(&r->reference[k]);
	free(r->reference);
	free(r->want);
	r->reference = NULL;
	r->want = NULL;
}
