/* plan_label: keeps the text of statements for messages of running ranks. */
#include "base/escape.h"
#include "ir/edit.h"
#include "ir/print.h"
#include "plan/planner.h"
#include <stdlib.h>

struct plan_labels *plan_labels_new(struct module *m)
{
	struct plan_labels *l = mem_zalloc(sizeof *l);
	struct buf text = {0}, shown = {0};
	l->arena = arena_new();
	l->n = m->op.n;
	l->at = arena_new_array(l->arena, struct plan_label, m->op.n);
	for (op_id o = 0; o < m->op.n; o++) {
		l->at[o] = (struct plan_label){.statement = "", .where = ""};
		if (!o || m->op.at[o].flags & OP_DEAD || !m->op.at[o].parent)
			continue;
		text.n = 0;
		ir_print_statement_numbered(m, o, &text);
		while (text.n && text.at[text.n - 1] == '\n')
			text.n--;
		const char *statement = text.at;
		size_t n = text.n;
		while (n && *statement == ' ')
			statement++, n--;
		shown.n = 0;
		escape_put(&shown, statement, n);
		l->at[o].statement = arena_strndup(l->arena, shown.at, shown.n);
		if (m->source && m->op.at[o].at != DIAG_NOWHERE) {
			uint32_t line, column;
			source_position(m->source, m->op.at[o].at, &line, &column);
			l->at[o].line = line;
			const char *file = source_name(m->source, m->op.at[o].at);
			shown.n = 0;
			escape_put(&shown, file, strlen(file));
			l->at[o].where = arena_printf(l->arena, "%s:%u", shown.at, line);
		}
	}
	buf_free(&text);
	buf_free(&shown);
	return l;
}

void plan_labels_free(struct plan_labels *l)
{
	if (!l)
		return;
	arena_free(l->arena);
	free(l);
}
