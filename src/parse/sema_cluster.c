/* sema_cluster: reads the program's description of the machine on which it was recorded.
 *
 *     cluster h100 {launch=1000, memory_rate=3350000000000, contended=1}
 *     group g0(8) {allgather=(1048576, 239700, 2097152, 405900)}
 *
 * launch is the host's time for a statement in ns; memory_rate is in bytes a second. contended: recorded times
 * contain the contention of communication and work. The table of a collective has pairs: bytes of its operand on a rank, ascending, and ns. */
#include "parse/sema_internal.h"
#include <string.h>

/* Returns the error in a table, for a message; NULL: none. */
static const char *table_error(const struct attr *a)
{
	if (a->kind != ATTR_INTS || !a->n || a->n % 2)
		return "a table has pairs of bytes and ns: `allgather=(1048576, 239700, 2097152, 405900)`";
	for (uint32_t i = 0; i < a->n; i += 2) {
		if (a->u.ints[i] < 0 || a->u.ints[i + 1] < 0)
			return "bytes and ns are not negative";
		if (i && a->u.ints[i] <= a->u.ints[i - 2])
			return "the bytes of a table ascend";
	}
	return NULL;
}

static ast_id key_of(const struct sema *s, ast_id attrs, name_id name)
{
	ast_each (s->a, key, attrs)
		if (ast_at(s->a, key)->name == name)
			return key;
	return attrs;
}

void sema_cost_tables(struct sema *s, ast_id attrs, attrs_id *out)
{
	static const char *const none[] = {NULL};
	attrs_id made = 0;
	if (!attrs || !sema_attrs(s, OP_NONE, attrs, none, &made))
		return;
	const struct attrs *l = &s->m->attrs.at[made];
	bool right = true;
	for (uint32_t i = 0; i < l->n; i++) {
		const char *name = names_text(s->m->names, l->at[i].key), *error;
		uint32_t at = ast_at(s->a, key_of(s, attrs, l->at[i].key))->at;
		enum op_kind kind = op_by_hir(name);
		if (kind == OP_NONE || !(op_info[kind].traits & TRAIT_COLLECTIVE)) {
			diag_error_span(s->d, E_COLLECTIVE_UNKNOWN, at, (uint32_t)strlen(name),
			                "'%s' is no collective", name);
			right = false;
		} else if ((error = table_error(&l->at[i]))) {
			diag_error_span(s->d, E_COST_TABLE, at, (uint32_t)strlen(name), "%s", error);
			right = false;
		}
	}
	if (right)
		*out = made;
}

void sema_cluster(struct sema *s, ast_id decl)
{
	static const char *const none[] = {NULL};
	static const struct {
		const char *name, *range;
		int64_t least, most;
	} known[] = {{"launch", " that is not negative", 0, INT64_MAX},
	             {"memory_rate", " above 0", 1, INT64_MAX},
	             {"contended", ", 0 or 1", 0, 1}};
	enum { KNOWN = sizeof known / sizeof *known };
	const struct ast_node *n = ast_at(s->a, decl);
	struct recording *c = &s->m->recording;
	uint32_t at = sema_name_at(s, decl);
	if (c->name && sema_is_own(s, c->at)) {
		diag_error_span(s->d, E_DEFINED_TWICE, at, (uint32_t)strlen(ast_text(s->a, decl)),
		                "a program is recorded on one cluster");
		diag_note(s->d, c->at, "the first one is here");
		return;
	}
	const struct recording other = *c;
	*c = (struct recording){.name = n->name, .at = at};
	if (!sema_attrs(s, OP_NONE, n->first, none, &c->attrs))
		return;
	if (other.name && (other.name != c->name || other.attrs != c->attrs))
		sema_report_unlike(s, "cluster", c->name, at, other.at);
	const struct attrs *l = &s->m->attrs.at[c->attrs];
	for (uint32_t i = 0; i < l->n; i++) {
		const char *name = names_text(s->m->names, l->at[i].key);
		uint32_t key = ast_at(s->a, key_of(s, n->first, l->at[i].key))->at, k = 0;
		while (k < KNOWN && strcmp(known[k].name, name))
			k++;
		if (k == KNOWN) {
			diag_error_span(s->d, E_ATTRIBUTE_UNKNOWN, key, (uint32_t)strlen(name),
			                "a cluster has launch= (ns), memory_rate= (bytes a second) and "
			                "contended=, not '%s'",
			                name);
		} else if (l->at[i].kind != ATTR_INT || l->at[i].u.i < known[k].least ||
		           l->at[i].u.i > known[k].most) {
			diag_error_span(s->d, E_ATTRIBUTE_VALUE, key, (uint32_t)strlen(name),
			                "%s= is a whole number%s", name, known[k].range);
		}
	}
}
