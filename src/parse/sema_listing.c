/* sema_listing: chooses how the parallel axes of a listing are read, and reads the types of its tensors.
 *
 *     T0_g_float[istreamIdx2{4}, ideviceIdx.x4{8}, iS5{16}] (DeviceMesh{0 1 2 3 4 5 6 7})
 *       halves     two axes, [4, 128]; the second is split over the devices
 *       own        three axes, [4, 8, 16]
 *       twice      one axis of 512, split by 4 and then by 8
 *
 * A section `Hirc` states the rule (ir/printed_rule.c). Without it the numbers decide (ir/printed_numbers.h).
 * Where they admit several ways, the whole program is read in each without messages: a reading with errors is
 * out. If several remain, a warning shows them and --paired-axes picks one. */
#include "base/arena.h"
#include "ir/edit.h"
#include "ir/print.h"
#include "ir/printed.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <stdlib.h>
#include <string.h>

/* Returns true if two tensors are printed with the same axis numbers. */
static bool have_same_numbers(const struct nv_reader *r, const struct nv_tensor *x, const struct nv_tensor *y)
{
	const struct ast *a = r->s->a;
	ast_id i = ast_at(a, ast_child(a, shape_tensor(r->s->a, x->node), 0))->first,
	       k = ast_at(a, ast_child(a, shape_tensor(r->s->a, y->node), 0))->first;
	while (i && k && ast_at(a, i)->value.i == ast_at(a, k)->value.i)
		i = ast_at(a, i)->next, k = ast_at(a, k)->next;
	return !i && !k;
}

/* Marks the HostUnits whose axes have numbers of another counter: a tensor of the container has the same name as one of
 * theirs, and other numbers. */
static void mark_own_counters(struct nv_reader *r)
{
	for (uint32_t u = 0; u < r->unit.n; u++) {
		struct nv_unit *unit = &r->unit.at[u];
		for (uint32_t i = unit->first; i < unit->first + unit->n; i++) {
			const struct nv_tensor *t = &r->tensor.at[i];
			uint32_t other = t->name < r->tensor_of.n ? r->tensor_of.at[t->name] : 0;
			unit->own_counter |= other && !have_same_numbers(r, t, &r->tensor.at[other - 1]);
		}
	}
}

struct printed_numbers *nv_numbers_of(struct nv_reader *r, const struct nv_tensor *t)
{
	struct nv_unit *u = t->unit ? &r->unit.at[t->unit - 1] : NULL;
	return u && u->own_counter ? &u->numbers : &r->numbers;
}

/* Collects the numbers of all axes, by counter. Returns true if one axis is parallel. */
static bool collect_numbers(struct nv_reader *r)
{
	const struct ast *a = r->s->a;
	bool parallel = false;
	mark_own_counters(r);
	for (uint32_t i = 0; i < r->tensor.n; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		ast_each (a, id, ast_child(a, shape_tensor(r->s->a, t->node), 0)) {
			const char *head = ast_text(a, id);
			parallel |= head[0] && head[1] != 'S';
			parallel |= head[0] && head[1] && head[2] && strncmp(head + 1, "Stream", 6) == 0;
			printed_numbers_add(nv_numbers_of(r, t), (int32_t)ast_at(a, id)->value.i);
		}
	}
	printed_numbers_sort(&r->numbers);
	for (uint32_t u = 0; u < r->unit.n; u++)
		printed_numbers_sort(&r->unit.at[u].numbers);
	return parallel;
}

static void set_way(struct nv_reader *r, enum printed_way way)
{
	r->numbers.way = way;
	for (uint32_t u = 0; u < r->unit.n; u++)
		r->unit.at[u].numbers.way = way;
}

void nv_read_types(struct nv_reader *r, enum printed_way way)
{
	set_way(r, way);
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (!r->tensor.at[i].formal && !r->tensor.at[i].later)
			nv_type(r, &r->tensor.at[i]);
}

enum { MOST_TRIED = 8 }; /* tensors that are read in another way */

static const enum sema_paired option_of[] = {
    [PRINTED_AS_HALVES] = PAIRED_HALVES, [PRINTED_AS_OWN] = PAIRED_OWN, [PRINTED_AS_TWICE] = PAIRED_TWICE};

/* Reads the program without messages. other_way: as in struct sema_options. Returns true if it has no errors. */
static bool has_no_errors(struct nv_reader *r, enum sema_paired paired, uint32_t other_way)
{
	struct source *source = r->s->a->source;
	struct sema_options options = *r->s->options;
	struct diag *d = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	options.paired = paired;
	options.other_way = other_way;
	diag_set_source(d, source);
	struct ast *a = ast_parse_shared(d, source);
	struct module *m = sema_build(d, a, &options);
	bool ok = m != NULL;
	module_free(m);
	ast_free(a);
	diag_free(d);
	return ok;
}

bool nv_has_no_errors(struct nv_reader *r, enum sema_paired paired)
{
	return has_no_errors(r, paired, 0);
}

/* Appends the type of a tensor as it is read in one way. */
static void put_type(struct nv_reader *r, const struct nv_tensor *t, enum printed_way way, struct buf *out)
{
	struct nv_tensor other = *t;
	enum printed_way before = r->numbers.way;
	set_way(r, way);
	nv_type(r, &other);
	set_way(r, before);
	ir_print_type(r->s->m, other.type, out);
}

static const char *const word_of[] = {
    [PRINTED_AS_HALVES] = "halves", [PRINTED_AS_OWN] = "own", [PRINTED_AS_TWICE] = "twice"};

static void warn_undecided(struct nv_reader *r, const struct nv_tensor *t, unsigned ways)
{
	struct sema *s = r->s;
	struct buf read = {0}, note = {0};
	const char *name = ast_text(s->a, t->node);
	ir_print_type(s->m, t->type, &read);
	for (unsigned way = 0; way < PRINTED_WAY_N; way++) {
		if (!(ways >> way & 1))
			continue;
		buf_printf(&note, "%s--paired-axes=%s reads %s as ", note.n ? ", " : "", word_of[way],
		           note.n ? "it" : name);
		put_type(r, t, (enum printed_way)way, &note);
	}
	diag_warning(s->d, W_PRINTED_AXES, ast_at(s->a, t->node)->at,
	             "the axes of %s can be read in %s ways; they are read as %s", name,
	             ways == (1U << PRINTED_WAY_N) - 1 ? "three" : "two", read.at);
	diag_note(s->d, DIAG_NOWHERE, "%s", note.at);
	buf_free(&read);
	buf_free(&note);
}

unsigned nv_list_ways(const struct nv_reader *r)
{
	unsigned ways = 0;
	for (uint32_t i = 0; i < r->tensor.n; i++) {
		unsigned w = r->tensor.at[i].ways;
		ways |= w & (w - 1) ? w : 0;
	}
	return ways;
}

/* Warns of the first tensor for each way that is left. */
static void warn_all_undecided(struct nv_reader *r, unsigned ways)
{
	unsigned shown = 0;
	for (uint32_t i = 0; i < r->tensor.n; i++) {
		unsigned w = r->tensor.at[i].ways & ways;
		if (!(w & (w - 1)) || !(w & ~shown))
			continue;
		warn_undecided(r, &r->tensor.at[i], w);
		shown |= w;
	}
}

/* Returns the way that the section `Hirc` states, or else the option. */
static enum printed_way stated_way(const struct nv_reader *r)
{
	const char *axes = r->axes ? names_text(r->s->m->names, r->axes) : "";
	enum sema_paired paired = r->axes ? PAIRED_BY_PROGRAM : r->s->options->paired;
	if (paired == PAIRED_OWN || !strcmp(axes, "own"))
		return PRINTED_AS_OWN;
	return paired == PAIRED_TWICE || !strcmp(axes, "twice") ? PRINTED_AS_TWICE : PRINTED_AS_HALVES;
}

static enum printed_way opposite(enum printed_way way)
{
	return way == PRINTED_AS_HALVES ? PRINTED_AS_OWN : PRINTED_AS_HALVES;
}

/* Warns that a tensor, together with those alike, is read in a way, and could be read in the opposite one. */
static void warn_two_ways(struct nv_reader *r, const struct nv_tensor *t, enum printed_way way)
{
	struct buf read = {0}, other = {0};
	put_type(r, t, way, &read);
	put_type(r, t, opposite(way), &other);
	diag_warning(r->s->d, W_PRINTED_AXES, ast_at(r->s->a, t->node)->at,
	             "the axes of %s can be read in two ways; they are read as %s",
	             ast_text(r->s->a, t->node), read.at);
	diag_note(r->s->d, DIAG_NOWHERE, "a block in a TransformPrinter section can state %s", other.at);
	buf_free(&read);
	buf_free(&other);
}

/* Warns of the first tensor that can be read in another way than the listing, together with those alike. */
static void warn_other_way(struct nv_reader *r, enum printed_way way)
{
	unsigned tried = 0;
	for (uint32_t i = 0; i < r->tensor.n && tried < MOST_TRIED; i++) {
		const struct nv_tensor *t = &r->tensor.at[i];
		if (!(t->ways & PRINTED_BIT(HALVES)) || !(t->ways & PRINTED_BIT(OWN)) ||
		    (tried++, !has_no_errors(r, option_of[way], i + 1)))
			continue;
		warn_two_ways(r, t, way);
		return;
	}
}

const struct nv_tensor *nv_printed_reductions(struct nv_reader *r, const struct nv_tensor *result)
{
	value_id from = ir_unsharded(r->s->m, result->value);
	for (uint32_t i = 0; from != result->value && i < r->tensor.n; i++)
		if (r->tensor.at[i].value == from)
			return &r->tensor.at[i];
	return result;
}

/* Says that the option of --paired-axes has no effect, if no tensor leaves it a choice. */
static void note_unused_option(struct nv_reader *r)
{
	for (unsigned way = 0; way < PRINTED_WAY_N; way++)
		if (option_of[way] == r->s->options->paired && !nv_list_ways(r))
			diag_note(
			    r->s->d, DIAG_NOWHERE,
			    "--paired-axes=%s changes nothing: the numbers of the axes leave one reading",
			    word_of[way]);
}

/* Reads tensor i - 1, and those alike, in another way than the other tensors. i = 0: none. */
static void read_other_way(struct nv_reader *r, uint32_t i)
{
	if (!i || i > r->tensor.n || !r->by_number)
		return;
	const struct nv_tensor *t = &r->tensor.at[i - 1];
	struct printed_tensor p;
	if (nv_ids(r, t, r->s->m->type.at[t->type].mesh, &p))
		r->other_way = p;
	nv_read_types(r, r->numbers.way);
}

/* Readings without errors of a listing, in which the tensors of one kind are read in another way than the others. */
struct mixed {
	uint32_t kind[MOST_TRIED]; /* index + 1 of the first tensor of each kind */
	unsigned kinds;
	struct mixed_reading {
		enum printed_way way;
		uint32_t tensor; /* index + 1 of the first that is read in the opposite way */
	} reading[2];
	unsigned found;
};

/* Lists the kinds of tensors that can be read in both ways. Those of one kind are printed alike. */
static void list_kinds(struct nv_reader *r, struct mixed *out)
{
	struct printed_tensor *kind = mem_zalloc(MOST_TRIED * sizeof *kind);
	for (uint32_t i = 0; i < r->tensor.n && out->kinds < MOST_TRIED; i++) {
		const struct nv_tensor *t = &r->tensor.at[i];
		struct printed_tensor *own = &kind[out->kinds];
		unsigned k = 0;
		if (!(t->ways & PRINTED_BIT(HALVES)) || !(t->ways & PRINTED_BIT(OWN)) ||
		    !nv_ids(r, t, r->s->m->type.at[t->type].mesh, own))
			continue;
		while (!printed_are_alike(&kind[k], own))
			k++;
		if (k == out->kinds)
			out->kind[out->kinds++] = i + 1;
	}
	free(kind);
}

static enum printed_way way_of(const struct mixed_reading *x, uint32_t tensor)
{
	return x->tensor == tensor ? opposite(x->way) : x->way;
}

/* Finds up to two readings. */
static void find_mixed(struct nv_reader *r, struct mixed *out)
{
	list_kinds(r, out);
	/* of two kinds, the opposite way gives the same readings */
	enum printed_way last = out->kinds == 2 ? PRINTED_AS_HALVES : PRINTED_AS_OWN;
	for (unsigned way = PRINTED_AS_HALVES; way <= last; way++)
		for (unsigned k = 0; k < out->kinds && out->found < 2; k++)
			if (has_no_errors(r, option_of[way], out->kind[k]))
				out->reading[out->found++] =
				    (struct mixed_reading){(enum printed_way)way, out->kind[k]};
}

/* Reads a listing of which neither way has no errors. Warns if two mixed readings have none. */
static void read_mixed(struct nv_reader *r)
{
	struct mixed x = {0};
	const struct mixed_reading *read = &x.reading[0], *other = &x.reading[1];
	find_mixed(r, &x);
	if (!x.found)
		return;
	set_way(r, read->way);
	read_other_way(r, read->tensor);
	for (unsigned k = 0; k < x.kinds && x.found > 1; k++)
		if (way_of(read, x.kind[k]) != way_of(other, x.kind[k])) {
			warn_two_ways(r, &r->tensor.at[x.kind[k] - 1], way_of(read, x.kind[k]));
			return;
		}
}

void nv_types(struct nv_reader *r)
{
	bool all = r->axes && !strcmp(names_text(r->s->m->names, r->axes), "all"), stated = r->axes && !all;
	nv_unschedule(r);
	r->by_number = (r->axes || !r->has_facts) && collect_numbers(r);
	unsigned before = diag_error_count(r->s->d);
	nv_read_types(r, stated_way(r));
	read_other_way(r, r->s->options->other_way);
	if (r->by_number && r->numbers.made.n && diag_error_count(r->s->d) == before)
		nv_read_types(r, stated_way(r)); /* the extents of axes that reshapes made are known now */
	enum sema_paired paired = r->s->options->paired;
	if (r->by_number && !stated)
		note_unused_option(r);
	bool picked = paired == PAIRED_FIRST || paired == PAIRED_SECOND;
	if (!r->by_number || stated || (paired != PAIRED_BY_PROGRAM && !picked) ||
	    diag_error_count(r->s->d) > before)
		return;
	if ((all || r->s->a->source->file_n <= 1) && nv_read_by_cover(r, all))
		return;
	unsigned ways = nv_list_ways(r);
	if (!ways)
		return;
	unsigned left = ways;
	for (unsigned way = 0; way < PRINTED_WAY_N && r->s->a->source->file_n <= 1; way++)
		if (ways >> way & 1 && !nv_has_no_errors(r, option_of[way]))
			left &= ~(1U << way);
	if (!left && r->s->a->source->file_n <= 1) {
		read_mixed(r);
		return;
	}
	if (left & (left - 1))
		warn_all_undecided(r, left);
	enum printed_way way = PRINTED_AS_HALVES;
	while (left && !(left >> way & 1))
		way++;
	if (way != PRINTED_AS_HALVES)
		nv_read_types(r, way);
	if (left && !(left & (left - 1)) && r->s->a->source->file_n <= 1)
		warn_other_way(r, way);
}
