/* options_help: prints --help from the rows of a command.
 *
 *     --streams=N               take stream indices modulo N; 0: as they are (default: 4)  */
#include "cli/commands.h"
#include "cli/options.h"

static void put_default(struct buf *b, const struct option *o)
{
	switch (o->kind) {
	case OPTION_SWITCH:
		if (o->on_in_debug)
			buf_puts(b, " (default: on in debug builds)");
		else if (o->init.on)
			buf_printf(b, " (default: on; --no-%s)", o->name);
		break;
	case OPTION_INT:
	case OPTION_SIZE:
		buf_printf(b, " (default: %lld)", (long long)o->init.number);
		break;
	case OPTION_TEXT:
	case OPTION_MAYBE:
		if (o->init.text)
			buf_printf(b, " (default: %s)", o->init.text);
		break;
	case OPTION_CALL:
		break;
	}
}

static void put_option(struct buf *b, const struct option *o)
{
	enum { COLUMN = 28 };
	size_t start = b->n;
	const char *value = o->value ? o->value : "VALUE";
	buf_puts(b, "  ");
	if (o->letter)
		buf_printf(b, "-%c", o->letter);
	if (o->letter && o->name)
		buf_puts(b, ", ");
	if (o->name)
		buf_printf(b, "--%s", o->name);
	if (o->kind == OPTION_MAYBE)
		buf_printf(b, "[=%s]", value);
	else if (o->kind != OPTION_SWITCH)
		buf_printf(b, "%s%s", o->name ? "=" : " ", value);
	size_t used = b->n - start;
	if (used + 2 > COLUMN) {
		buf_putc(b, '\n');
		used = 0;
	}
	buf_pad(b, ' ', (unsigned)(COLUMN - used));
	buf_puts(b, o->help);
	put_default(b, o);
	buf_putc(b, '\n');
}

void options_put_help(const struct command_line *c, struct buf *b)
{
	buf_printf(b, "usage: hirc %s %s\n\n%s\n", c->command, c->usage, c->about);
	for (unsigned t = 0; t < c->table_n; t++) {
		buf_printf(b, "\n%s:\n", c->table[t].title);
		for (unsigned i = 0; i < c->table[t].n; i++)
			if (!options_hidden(c, t, &c->table[t].row[i]))
				put_option(b, &c->table[t].row[i]);
	}
	buf_puts(b, "\nOptions are read from the environment variable HIRC_FLAGS first.\n");
	buf_printf(b, "`man hirc-%s` says more.\n", command_find(c->command)->name);
}
