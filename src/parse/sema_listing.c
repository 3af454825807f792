/* sema_listing: chooses how the parallel axes of a listing are read, and reads the types of its tensors.
 *
 *     T0_g_float[ideviceIdx.x4{8}, iS5{16}] (DeviceMesh{0 1 2 3 4 5 6 7})
 *       halves     one axis of 128, split over the devices
 *       own        two axes, [8, 16]
 *
 * A section `Hirc` states the rule (ir/printed_rule.c). Without it the numbers decide (ir/printed_numbers.h).
 * Where they admit both, the whole program is read either way without messages: a reading with errors is
 * out. If both remain, a warning shows them and --paired-axes picks one. */
#include "ir/print.h"
#include "ir/printed.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

/* Collects the numbers of all axes. Returns true if one is parallel. */
static bool collect_numbers(struct nv_reader *r)
{
	const struct ast *a = r->s->a;
	bool parallel = false;
	for (uint32_t i = 0; i < r->tensor.n; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		ast_each (a, id, ast_child(a, shape_tensor(r->s->a, t->node), 0)) {
			const char *head = ast_text(a, id);
			parallel |= head[0] && head[1] != 'S';
			parallel |= head[0] && head[1] && head[2] && strncmp(head + 1, "Stream", 6) == 0;
			printed_numbers_add(&r->numbers, (int32_t)ast_at(a, id)->value.i);
		}
	}
	printed_numbers_sort(&r->numbers);
	return parallel;
}

static void read_types(struct nv_reader *r)
{
	r->undecided = 0;
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (!r->tensor.at[i].formal)
			nv_type(r, &r->tensor.at[i]);
}

/* Reads the whole program in one way, without messages. Returns true if it has no errors. */
static bool has_no_errors(struct nv_reader *r, enum sema_paired paired)
{
	struct source *source = r->s->a->source;
	struct sema_options options = *r->s->options;
	struct diag *d = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	options.paired = paired;
	diag_set_source(d, source);
	struct ast *a = ast_parse_shared(d, source);
	struct module *m = sema_build(d, a, &options);
	bool ok = m != NULL;
	module_free(m);
	ast_free(a);
	diag_free(d);
	return ok;
}

/* Appends the type of a tensor as the other rule reads it. */
static void put_other_type(struct nv_reader *r, const struct nv_tensor *t, struct buf *out)
{
	struct nv_tensor other = *t;
	r->numbers.own = true;
	nv_type(r, &other);
	r->numbers.own = false;
	ir_print_type(r->s->m, other.type, out);
}

static void warn_undecided(struct nv_reader *r, bool several)
{
	struct sema *s = r->s;
	const struct ast_node *x = ast_at(s->a, r->undecided_outer), *y = ast_at(s->a, r->undecided_inner);
	const char *text = s->a->source->text;
	diag_warning(s->d, W_PRINTED_AXES, ast_at(s->a, r->undecided)->at,
	             "%.*s and %.*s of %s are read as halves of one axis; they may also be two axes",
	             (int)(x->end - x->at), text + x->at, (int)(y->end - y->at), text + y->at,
	             ast_text(s->a, r->undecided));
	const struct nv_tensor *t = nv_find_tensor(r, ast_at(s->a, r->undecided)->name);
	if (several || !t) {
		diag_note(
		    s->d, DIAG_NOWHERE,
		    "--paired-axes=halves reads such axes as halves of one, --paired-axes=own as two axes");
		return;
	}
	struct buf halves = {0}, own = {0};
	ir_print_type(s->m, t->type, &halves);
	put_other_type(r, t, &own);
	diag_note(s->d, DIAG_NOWHERE, "--paired-axes=halves reads %s as %s, --paired-axes=own as %s",
	          ast_text(s->a, r->undecided), halves.at, own.at);
	buf_free(&halves);
	buf_free(&own);
}

void nv_types(struct nv_reader *r)
{
	const struct sema_options *options = r->s->options;
	bool stated = r->axes != 0;
	r->by_number = (stated || !r->has_facts) && collect_numbers(r);
	r->numbers.own =
	    stated ? !strcmp(names_text(r->s->m->names, r->axes), "own") : options->paired == PAIRED_OWN;
	if (!r->by_number || stated || options->paired != PAIRED_BY_PROGRAM) {
		read_types(r);
		return;
	}
	unsigned before = diag_error_count(r->s->d);
	read_types(r);
	if (!r->undecided || diag_error_count(r->s->d) > before)
		return;
	bool several = r->s->a->source->file_n > 1; /* has_no_errors reads one file */
	if (!several && !has_no_errors(r, PAIRED_OWN))
		return;
	if (several || has_no_errors(r, PAIRED_HALVES)) {
		warn_undecided(r, several);
		return;
	}
	r->numbers.own = true;
	read_types(r);
}
