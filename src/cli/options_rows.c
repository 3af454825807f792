/* options_rows: works on the rows of a command: defaults, fields, and finding the row of a word. */
#include "cli/options.h"
#include <string.h>

#ifdef NDEBUG
static const bool debug_build = false;
#else
static const bool debug_build = true;
#endif

bool option_table_has(const struct option_table *t, const struct option *o)
{
	return o >= t->row && o < t->row + t->n;
}

void options_set_defaults(const struct option_table *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct option *o = &t->row[i];
		void *field = (char *)t->values + o->at;
		switch (o->kind) {
		case OPTION_SWITCH:
			*(bool *)field = o->init.on || (o->on_in_debug && debug_build);
			break;
		case OPTION_TEXT:
		case OPTION_MAYBE:
			*(const char **)field = o->init.text;
			break;
		case OPTION_INT:
		case OPTION_SIZE:
			*(int64_t *)field = o->init.number;
			break;
		case OPTION_CALL:
			break;
		}
	}
}

void *options_field(const struct command_line *c, const struct option *o)
{
	unsigned t = 0;
	while (!option_table_has(&c->table[t], o))
		t++;
	return (char *)c->table[t].values + o->at;
}

bool options_hidden(const struct command_line *c, unsigned t, const struct option *o)
{
	for (unsigned k = 0; k < t; k++)
		for (unsigned i = 0; i < c->table[k].n; i++) {
			const struct option *x = &c->table[k].row[i];
			if (o->name ? x->name && !strcmp(x->name, o->name) : x->letter == o->letter)
				return true;
		}
	return false;
}

const struct option *options_find_name(const struct command_line *c, const char *name, size_t n)
{
	for (unsigned t = 0; t < c->table_n; t++)
		for (unsigned i = 0; i < c->table[t].n; i++) {
			const struct option *o = &c->table[t].row[i];
			if (o->name && strlen(o->name) == n && !memcmp(o->name, name, n))
				return o;
		}
	return NULL;
}

/* Finds the row with an alias. word: n bytes, with dashes. */
static const struct option *find_alias(const struct command_line *c, const char *word, size_t n)
{
	for (unsigned t = 0; t < c->table_n; t++)
		for (unsigned i = 0; i < c->table[t].n; i++) {
			const struct option *o = &c->table[t].row[i];
			if (o->alias && strlen(o->alias) == n && !memcmp(o->alias, word, n))
				return o;
		}
	return NULL;
}

static const struct option *find_letter(const struct command_line *c, char letter)
{
	for (unsigned t = 0; t < c->table_n; t++)
		for (unsigned i = 0; i < c->table[t].n; i++)
			if (c->table[t].row[i].letter == letter)
				return &c->table[t].row[i];
	return NULL;
}

const struct option *options_find(const struct command_line *c, const char *word, size_t n)
{
	const struct option *o = find_alias(c, word, n);
	if (!o && n > 2 && word[0] == '-' && word[1] == '-')
		o = options_find_name(c, word + 2, n - 2);
	return o || n != 2 || word[0] != '-' || word[1] == '-' ? o : find_letter(c, word[1]);
}

bool options_given(const struct command_line *c, const char *name)
{
	for (uint32_t k = 0; k < c->given.n; k++)
		if (c->given.at[k]->name && !strcmp(c->given.at[k]->name, name))
			return true;
	return false;
}

void option_put_name(const struct option *o, struct buf *out)
{
	if (o->name)
		buf_printf(out, "--%s", o->name);
	else
		buf_printf(out, "-%c", o->letter);
}

void options_put_given_name(const struct command_line *c, uint32_t k, struct buf *out)
{
	const struct option *o = c->given.at[k];
	if (o->kind == OPTION_SWITCH && o->name && !strcmp(c->given_text.at[k], "no"))
		buf_printf(out, "--no-%s", o->name);
	else
		option_put_name(o, out);
}
