/* words: names of values, statements and places for messages. */
#include "check/words.h"
#include "check/checker.h"
#include "ir/number.h"
#include "ir/print.h"

void words_value(const struct checker *c, value_id v, struct buf *out)
{
	buf_putc(out, '\'');
	ir_print_value_name(c->m, v, out);
	buf_putc(out, '\'');
}

void words_statement_name(const struct checker *c, op_id op, struct buf *out)
{
	const struct op *o = &c->m->op.at[op];
	if (o->name)
		buf_puts(out, names_text(c->m->names, o->name));
	else
		ir_put_default_name('c', o->number, out);
}

void words_statement(const struct checker *c, op_id op, struct buf *out)
{
	const struct op *o = &c->m->op.at[op];
	if (!op) {
		buf_puts(out, "the caller");
		return;
	}
	buf_puts(out, op_info[o->kind].hir);
	if (!(o->flags & OP_ASYNC))
		return;
	buf_putc(out, ' ');
	words_statement_name(c, op, out);
}

static void put_iteration(const struct checker *c, uint32_t iteration, struct buf *out)
{
	const struct iteration *t = &c->iteration.at[iteration];
	const struct index *i = &c->m->index.at[t->index];
	if (!iteration)
		return;
	put_iteration(c, t->outer, out);
	buf_puts(out, ", ");
	if (i->name)
		buf_puts(out, names_text(c->m->names, i->name));
	else
		ir_put_default_name('i', i->number, out);
	buf_printf(out, " = %lld", (long long)t->at);
}

void words_place(const struct checker *c, uint32_t device, uint32_t iteration, struct buf *out)
{
	buf_printf(out, "(rank %u", device);
	put_iteration(c, iteration, out);
	buf_putc(out, ')');
}
