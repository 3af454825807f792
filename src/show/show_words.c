/* show_words: see show_words.h. */
#include "show/show_words.h"
#include "ir/print.h"

void show_put_statement(struct module *m, op_id op, struct buf *out)
{
	struct buf text = {0};
	ir_print_statement_numbered(m, op, &text);
	size_t from = strspn(text.at, " "), to = text.n;
	while (to > from && (text.at[to - 1] == '\n' || text.at[to - 1] == ' '))
		to--;
	buf_putn(out, text.at + from, to - from);
	buf_free(&text);
}

void show_put_place(const struct module *m, op_id op, struct buf *out)
{
	uint32_t line, column, at = m->op.at[op].at;
	if (!m->source || at == DIAG_NOWHERE)
		return;
	source_position(m->source, at, &line, &column);
	buf_printf(out, " (%s:%u)", source_name(m->source, m->op.at[op].at), line);
}

void show_put_bytes(int64_t bytes, struct buf *out)
{
	static const char unit[] = " KMGTPE";
	double n = (double)bytes;
	unsigned k = 0;
	for (; k < 6 && n >= 1000; k++)
		n /= 1024;
	if (!k)
		buf_printf(out, "%lld", (long long)bytes);
	else
		buf_printf(out, n < 9.995 ? "%.2f%c" : n < 99.95 ? "%.1f%c" : "%.0f%c", n, unit[k]);
}
