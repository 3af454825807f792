/* rank_graphs: see rank_graphs.h. */
#include "cli/rank_graphs.h"
#include "analysis/recorded_classes.h"
#include "base/source_read.h"
#include "import/import.h"
#include "ir/build.h"
#include "ir/edit.h"
#include "ir/print.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- groups
 *
 * In the trace of rank 0 the group dp is {0 1}, in that of rank 2 it is {2 3}. In one program a name means one
 * group, so the second one becomes dp_2. */

struct known_group {
	char *name;
	uint32_t *member, member_n;
};

struct known_groups {
	VEC(struct known_group) at;
};

static bool has_members(const struct known_group *g, const struct team *t)
{
	return g->member_n == t->device_n && !memcmp(g->member, t->device, sizeof *g->member * t->device_n);
}

/* Returns true if a name means other members already. */
static bool is_taken(const struct known_groups *known, const char *name, const struct team *t)
{
	for (uint32_t k = 0; k < known->at.n; k++)
		if (!strcmp(known->at.at[k].name, name) && !has_members(&known->at.at[k], t))
			return true;
	return false;
}

static void remember_group(struct known_groups *known, const char *name, const struct team *t)
{
	struct known_group g = {.name = mem_strdup(name), .member_n = t->device_n};
	g.member = mem_alloc(sizeof *g.member * (t->device_n + 1));
	memcpy(g.member, t->device, sizeof *g.member * t->device_n);
	vec_push(&known->at, g);
}

static void rename_group(struct module *m, group_id group, name_id name)
{
	name_id old = m->group.at[group].name;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct attr *a = op_attr(m, op, "group");
		if (!a || a->kind != ATTR_NAME || a->u.name != old)
			continue;
		struct attr new = *a;
		new.u.name = name;
		m->op.at[op].attrs = ir_attrs_with(m, m->op.at[op].attrs, &new);
	}
	m->group.at[group].name = name;
}

static void fit_groups(struct known_groups *known, struct module *m)
{
	for (group_id k = 1; k < m->group.n; k++) {
		if (!m->group.at[k].members)
			continue;
		const struct team *t = ir_team(m, m->group.at[k].members);
		struct buf name = {0};
		buf_puts(&name, names_text(m->names, m->group.at[k].name));
		if (is_taken(known, name.at, t)) {
			buf_printf(&name, "_%u", t->device[0]);
			while (is_taken(known, name.at, t))
				buf_putc(&name, '_');
			rename_group(m, k, names_intern_z(m->names, name.at));
		}
		remember_group(known, name.at, t);
		buf_free(&name);
	}
}

static void forget_groups(struct known_groups *known)
{
	for (uint32_t k = 0; k < known->at.n; k++) {
		free(known->at.at[k].name);
		free(known->at.at[k].member);
	}
	vec_free(&known->at);
}

/* ---- programs */

/* Replaces a graph by its program. All programs get the name of the first one, so that equal graphs have equal
 * texts. */
static bool import_graph(struct diag *d, const struct compile_options *o, struct known_groups *known,
                         struct buf *name, struct source **s)
{
	struct source *outer = diag_set_source(d, *s);
	struct module *m = import_read_groups(d, *s, o->group.at, o->group.n);
	struct buf text = {0};
	diag_set_source(d, outer);
	if (!m)
		return false;
	if (!name->at)
		buf_puts(name, names_text(m->names, m->name));
	m->name = names_intern_z(m->names, name->at);
	fit_groups(known, m);
	ir_print_hir(m, &text);
	bool fits = text.n <= SOURCE_MAX_BYTES;
	if (fits) {
		struct source *program = source_from_text((*s)->name, text.at, (uint32_t)text.n);
		module_free(m);
		source_free(*s);
		*s = program;
	} else {
		diag_error(d, E_FILE_TOO_LARGE, DIAG_NOWHERE,
		           "the program of '%s' is too large: more than %d bytes", (*s)->name,
		           SOURCE_MAX_BYTES);
		module_free(m);
	}
	buf_free(&text);
	return fits;
}

/* Gives the ranks of a file to an equal one before it, and removes the file. */
static void merge_equal(struct compile_options *o, struct source **of, const bool *graph, uint32_t *n)
{
	uint32_t kept = 0;
	for (uint32_t k = 0; k < *n; k++) {
		uint32_t same = 0;
		while (same < kept && !(graph[k] && of[same]->size == of[k]->size &&
		                        !memcmp(of[same]->text, of[k]->text, of[k]->size)))
			same++;
		for (uint32_t i = 0; i < o->ranks.n; i++)
			if (o->ranks.at[i].file == k)
				o->ranks.at[i].file = same;
		if (same < kept)
			source_free(of[k]);
		else
			of[kept++] = of[k];
	}
	*n = kept;
}

bool rank_graphs_import(struct diag *d, struct compile_options *o, struct source **of, uint32_t *n)
{
	struct known_groups known = {0};
	struct buf name = {0};
	bool *graph = mem_zalloc(sizeof *graph * *n), ok = true;
	for (uint32_t k = 0; k < *n && ok; k++) {
		graph[k] = import_knows(of[k]);
		ok = !graph[k] || import_graph(d, o, &known, &name, &of[k]);
	}
	if (ok)
		merge_equal(o, of, graph, n);
	free(graph);
	buf_free(&name);
	forget_groups(&known);
	return ok;
}

void rank_graphs_rename(struct module *m)
{
	VEC(bool) taken = {0};
	struct arena *arena = arena_new();
	struct recorded r;
	recorded_find(m, module_ranks(m), arena, &r);
	for (uint32_t c = 0; c < r.class.n; c++)
		region_each (m, op, r.class.at[c].body)
			for (unsigned k = 0; k < op_result_count(m, op); k++) {
				struct value *v = &m->value.at[op_result(m, op, k)];
				struct buf text = {0};
				buf_puts(&text, names_text(m->names, v->name));
				for (unsigned more = 0; v->name < taken.n && taken.at[v->name]; more++) {
					buf_printf(&text, more ? "_" : "@%" PRId64, r.class.at[c].first);
					v->name = names_intern_z(m->names, text.at);
				}
				while (taken.n <= v->name)
					vec_push(&taken, false);
				taken.at[v->name] = true;
				buf_free(&text);
			}
	recorded_free(&r);
	vec_free(&taken);
	arena_free(arena);
}
