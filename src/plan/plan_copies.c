/* plan_copies: see plan_copies.h.
 *
 *     T = permute(A, (1, 0))         plan: permute copies 128 bytes to T: sum in line 4 reads it in another
 *     output U = sum(T, axis=1)            order (f.hir:3)
 *
 * plan_views.c finds the reasons. A copy that a later step of the planner leaves out has no remark. */
#include "plan/plan_copies.h"
#include "base/diag.h"
#include "base/source.h"
#include "ir/print.h"
#include <string.h>

static const char *const text_of[] = {[PLAN_KEPT_NONE] = "",
#define PLAN_KEPT_TEXT(reason, text) [PLAN_KEPT_##reason] = (text),
                                      PLAN_KEPT(PLAN_KEPT_TEXT)
#undef PLAN_KEPT_TEXT
};

static uint32_t line_of(const struct module *m, op_id op)
{
	uint32_t line = 0, column;
	if (m->source && m->op.at[op].at != DIAG_NOWHERE)
		source_position(m->source, m->op.at[op].at, &line, &column);
	return line;
}

/* Puts `sum in line 4`. */
static void put_statement(const struct module *m, op_id op, struct buf *out)
{
	if (!op) {
		buf_puts(out, "a statement");
		return;
	}
	buf_puts(out, op_info[m->op.at[op].kind].hir);
	if (line_of(m, op))
		buf_printf(out, " in line %u", line_of(m, op));
}

/* Puts `128 bytes`; nothing if the number varies. */
static void put_bytes(const struct plan *p, const struct plan_view *v, struct buf *out)
{
	int64_t bytes = (int64_t)dtype_bytes(p->buffer.at[v->buffer].dtype);
	for (unsigned k = 0; k < v->nd; k++) {
		if (p->varies[v->n[k]])
			return;
		bytes *= p->reg.at[v->n[k]];
	}
	buf_printf(out, " %lld byte%s", (long long)bytes, bytes == 1 ? "" : "s");
}

static void put_copy(const struct plan *p, struct module *m, const struct plan_instruction *i,
                     struct buf *out)
{
	const struct plan_task *t = &p->task.at[i->a];
	const char *text = text_of[t->kept], *name = strstr(text, "%s");
	buf_printf(out, "%s copies", op_info[m->op.at[i->statement].kind].hir);
	put_bytes(p, &t->out, out);
	buf_puts(out, " to ");
	ir_print_value_name(m, p->buffer.at[t->out.buffer].value, out);
	buf_puts(out, ": ");
	if (name) {
		buf_putn(out, text, (size_t)(name - text));
		put_statement(m, t->kept_for, out);
	}
	buf_puts(out, name ? name + 2 : text);
}

void plan_copies_remark(const struct plan *p, struct module *m,
                        void (*remark)(void *to, uint32_t at, const char *text), void *to)
{
	struct buf text = {0};
	for (uint32_t k = 0; k < p->code.n; k++) {
		const struct plan_instruction *i = &p->code.at[k];
		if (i->code != PLAN_TASK || !p->task.at[i->a].kept)
			continue;
		text.n = 0;
		put_copy(p, m, i, &text);
		remark(to, m->op.at[i->statement].at, text.at);
	}
	buf_free(&text);
}
