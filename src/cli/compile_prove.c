/* compile_prove: see compile_prove.h. */
#include "cli/compile_prove.h"
#include "cli/missing_sets.h"
#include "ir/edit.h"
#include "values/values.h"

enum {
	MAX_STATEMENTS = 1 << 12, /* of all ranks together; larger programs are compared with --prove only */
	MAX_WORK = 1 << 14,       /* steps of all ranks, without --prove */
};

static bool is_small(const struct module *m)
{
	int64_t n = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		n++;
	return n * module_ranks(m) <= MAX_STATEMENTS;
}

static bool has_values(const struct module *m)
{
	for (param_id p = 1; p < m->param.n; p++)
		if (!m->param.at[p].has_value && !m->param.at[p].meaning)
			return false;
	return true;
}

void compile_prove_open(struct compile_prove *p, struct diag *d, struct module *m, bool strict)
{
	*p = (struct compile_prove){.d = d, .strict = strict};
	if (strict || (is_small(m) && has_values(m)))
		p->source = module_copy(m);
	if (p->source && !values_can_be_logical(p->source))
		missing_sets_add(p->source);
}

void compile_prove_close(struct compile_prove *p)
{
	module_free(p->source);
	p->source = NULL;
}

static bool compare(struct compile_prove *p, struct module *m, struct diag *d, bool last,
                    enum values_relation *found)
{
	const struct values_options o = {
	    .ranks = module_ranks(m), .work = p->strict ? 0 : MAX_WORK, .half_lowered = !last};
	return values_compare(m, p->source, d, &o, "the source", found) == VALUES_PROVED;
}

/* Returns true if a program is another function than the source. Before decompose-reshardings statements may need
 * elements of other ranks. If ranks are walked one by one, the sets are added that move these. */
static bool differs_from_source(struct compile_prove *p, struct module *m, struct diag *d)
{
	enum values_relation found = VALUES_NOT_RELATED;
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	bool differs = compare(p, m, nowhere, false, &found) && found == VALUES_DIFFERS;
	diag_free(nowhere);
	if (differs) {
		struct module *complete = module_copy(m);
		missing_sets_add(complete);
		differs = compare(p, complete, d, false, &found) && found == VALUES_DIFFERS;
		module_free(complete);
	}
	return differs;
}

bool compile_prove_pass(struct compile_prove *p, struct module *m)
{
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	const bool differs = p->source && differs_from_source(p, m, nowhere);
	diag_free(nowhere);
	if (differs)
		differs_from_source(p, m, p->d);
	return !differs;
}

bool compile_prove_last(struct compile_prove *p, struct module *m)
{
	enum values_relation found = VALUES_NOT_RELATED;
	if (!p->source || !p->strict)
		return true;
	if (!compare(p, m, p->d, true, &found)) {
		diag_error(p->d, E_NOT_PROVED, DIAG_NOWHERE,
		           "the program cannot be compared with its source");
		return false;
	}
	if (found == VALUES_NOT_RELATED)
		diag_error(p->d, E_NOT_PROVED, DIAG_NOWHERE,
		           "it is not proved that the program computes the same function as its source");
	return found == VALUES_COMPUTES;
}
