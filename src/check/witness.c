/* witness: see witness.h. */
#include "check/witness.h"
#include "check/checker.h"
#include "check/words.h"
#include "ir/edit.h"
#include <stdlib.h>

const char *witness_kind_name(enum witness_kind k)
{
	static const char *const name[] = {
#define WITNESS_KIND_NAME(kind, name, meaning) [WITNESS_##kind] = (name),
	    WITNESS_KINDS(WITNESS_KIND_NAME)
#undef WITNESS_KIND_NAME
	};
	return name[k];
}

const char *witness_role_name(enum witness_role r)
{
	static const char *const name[] = {
#define WITNESS_ROLE_NAME(role, name, meaning) [WITNESS_ROLE_##role] = (name),
	    WITNESS_ROLES(WITNESS_ROLE_NAME)
#undef WITNESS_ROLE_NAME
	};
	return name[r];
}

void witness_free(struct witness *w)
{
	for (uint32_t k = 0; k < w->event.n; k++) {
		free(w->event.at[k].text);
		free(w->event.at[k].where);
	}
	vec_free(&w->event);
}

uint32_t witness_number(const struct module *m, op_id op)
{
	uint32_t n = 1;
	for (op_id k = ir_walk_first(m); k; k = ir_walk(m, k), n++)
		if (k == op)
			return n;
	return 0;
}

op_id witness_statement(const struct module *m, uint32_t number)
{
	op_id k = number ? ir_walk_first(m) : 0;
	while (k && --number)
		k = ir_walk(m, k);
	return k;
}

bool witness_is_wanted(struct checker *c, enum witness_kind kind)
{
	struct witness *w = c->o->witness;
	if (!w || w->error != c->reported.n || w->event.n)
		return false;
	w->kind = kind;
	return true;
}

static void add_indices(const struct checker *c, uint32_t iteration, struct witness_event *e)
{
	if (!iteration)
		return;
	add_indices(c, c->iteration.at[iteration].outer, e);
	e->index[e->n++] = c->iteration.at[iteration].at;
}

void witness_add(struct checker *c, enum witness_role role, op_id op, int64_t rank, uint32_t iteration)
{
	struct witness_event e = {.role = role, .rank = rank, .statement = witness_number(c->m, op)};
	struct buf text = {0}, where = {0};
	uint32_t line, column, at = op ? c->m->op.at[op].at : DIAG_NOWHERE;
	add_indices(c, iteration, &e);
	words_statement(c, op, &text);
	buf_puts(&where, "");
	if (c->m->source && at != DIAG_NOWHERE) {
		source_position(c->m->source, at, &line, &column);
		buf_printf(&where, "%s:%u:%u", c->m->source->name, line, column);
	}
	e.text = mem_strdup(text.at);
	e.where = mem_strdup(where.at ? where.at : "");
	buf_free(&text);
	buf_free(&where);
	vec_push(&c->o->witness->event, e);
}
