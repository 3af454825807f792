/* complete_line: see complete_line.h. */
#include "cli/complete_line.h"
#include "base/status.h"
#include "base/vec.h"
#include "cli/commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void complete_offer(struct complete *x, const char *text, size_t n, const char *help)
{
	const char *part = x->word + x->fixed;
	size_t given = strlen(part);
	struct buf line = {0};
	if (n < given || memcmp(text, part, given) != 0)
		return;
	buf_putn(&line, x->word, x->fixed);
	buf_putn(&line, text, n);
	fputs(line.at + x->from, stdout);
	if (help) {
		putchar('\t');
		for (; *help; help++)
			putchar(*help == '\n' ? ' ' : *help);
	}
	putchar('\n');
	x->n++;
	buf_free(&line);
}

static void offer_words(struct complete *x, const char *words)
{
	while (words && *words) {
		size_t n = strcspn(words, "|");
		complete_offer(x, words, n, NULL);
		words += n + (words[n] == '|');
	}
}

/* ---- options */

static bool takes_value(const struct option *o, const char *kind)
{
	return o->kind != OPTION_SWITCH && o->value && strstr(o->value, kind);
}

/* Offers values of an option; the value begins after `fixed`. */
static void offer_value(struct complete *x, const struct option *o)
{
	const char *value = x->word + x->fixed, *comma = strrchr(value, ','), *equals = strchr(value, '=');
	if (o->several && comma)
		x->fixed += (size_t)(comma + 1 - value);
	offer_words(x, o->words ? o->words : takes_value(o, "|") ? o->value : NULL);
	if (takes_value(o, "=FILE")) {
		if (!equals)
			return;
		x->fixed += (size_t)(equals + 1 - value);
	}
	if (takes_value(o, "FILE") || takes_value(o, ".json"))
		complete_offer_files(x, "");
	else if (takes_value(o, "DIR"))
		complete_offer_files(x, NULL);
}

static void offer_name(struct complete *x, const char *dashes, const char *name, const char *end,
                       const char *help)
{
	struct buf word = {0};
	buf_printf(&word, "%s%s%s", dashes, name, end);
	complete_offer(x, word.at, word.n, help);
	buf_free(&word);
}

static void offer_option(struct complete *x, const struct option *o)
{
	const char letter[] = {o->letter, '\0'};
	bool is_switch = o->kind == OPTION_SWITCH;
	if (o->letter)
		offer_name(x, "-", letter, "", o->help);
	if (o->name && (is_switch || o->kind == OPTION_MAYBE))
		offer_name(x, "--", o->name, "", o->help);
	if (o->name && !is_switch)
		offer_name(x, "--", o->name, "=", o->help);
	if (o->name && is_switch && (o->init.on || !strncmp(x->word, "--no", 4))) {
		struct buf help = {0};
		buf_printf(&help, "not: %s", o->help);
		offer_name(x, "--no-", o->name, "", help.at);
		buf_free(&help);
	}
}

static void offer_options(struct complete *x, const struct command_line *c)
{
	offer_name(x, "--", "help", "", "list the options");
	for (unsigned t = 0; t < c->table_n; t++)
		for (unsigned i = 0; i < c->table[t].n; i++)
			if (!options_hidden(c, t, &c->table[t].row[i]))
				offer_option(x, &c->table[t].row[i]);
}

/* ---- the line of a command */

/* Returns the option that `word` names, if the next word is its value; NULL: none. */
static const struct option *option_before(const struct command_line *c, const char *word)
{
	const struct option *o = options_find(c, word, strlen(word));
	return o && o->kind != OPTION_SWITCH && o->kind != OPTION_MAYBE ? o : NULL;
}

void complete_line(const struct command_line *c, int argc, char **argv)
{
	struct complete x = {.word = argv[argc - 1], .from = strtoul(argv[0], NULL, 10)};
	const char *equals = strchr(x.word, '=');
	const struct option *before = argc > 2 ? option_before(c, argv[argc - 2]) : NULL, *o = NULL;
	bool ended = false;
	for (int i = 1; i < argc - 1; i++)
		ended |= !strcmp(argv[i], "--");
	if (ended)
		before = NULL;
	if (!ended && !before && x.word[0] == '-' && x.word[1] == '-' && equals) {
		o = options_find(c, x.word, (size_t)(equals - x.word));
		x.fixed = (size_t)(equals + 1 - x.word);
	} else if (!ended && !before && x.word[0] == '-' && x.word[1] && x.word[1] != '-' && x.word[2]) {
		o = options_find(c, x.word, 2);
		x.fixed = 2;
	}
	if (before || o) {
		offer_value(&x, before ? before : o);
	} else if (x.fixed) {
		return; /* unknown option */
	} else if (!ended && x.word[0] == '-') {
		offer_options(&x, c);
	} else {
		offer_words(&x, c->words);
		if (!c->no_files)
			complete_offer_files(&x, c->suffixes ? c->suffixes : "hir");
	}
}

/* ---- commands */

static void offer_commands(struct complete *x)
{
	unsigned n;
	const struct command *all = commands_all(&n);
	for (unsigned k = 0; k < n; k++) {
		complete_offer(x, all[k].name, strlen(all[k].name), all[k].help);
		if (all[k].alias)
			complete_offer(x, all[k].alias, strlen(all[k].alias), all[k].help);
	}
}

/* The words of the command line, after joining words that bash cut at `=` and `:`. */
struct joined {
	VEC(char *) word; /* owned */
	size_t from;      /* bytes of the last word that precede the shell's last word */
};

/* Appends a word without its escaping backslashes. */
static void put_plain(struct buf *out, const char *word)
{
	buf_puts(out, "");
	for (; *word; word++) {
		word += *word == '\\' && word[1];
		buf_putc(out, *word);
	}
}

static void join_words(int n, char **word, struct joined *out)
{
	bool glue = false;
	for (int i = 0; i < n; i++) {
		bool cut = out->word.n && (!strcmp(word[i], "=") || !strcmp(word[i], ":"));
		struct buf text = {0};
		if ((glue || cut) && out->word.n) {
			char *last = out->word.at[--out->word.n];
			buf_puts(&text, last);
			free(last);
		}
		out->from = text.n + (cut ? 1 : 0);
		put_plain(&text, word[i]);
		vec_push(&out->word, text.at);
		glue = cut;
	}
}

int complete_words(int n, char **word)
{
	struct joined all = {0};
	join_words(n, word, &all);
	if (all.word.n) {
		struct complete x = {.word = all.word.at[all.word.n - 1], .from = all.from};
		const struct command *c = command_find(all.word.at[0]);
		if (all.word.n == 1) {
			offer_commands(&x);
			offer_name(&x, "", "help", "", "list the commands, or the options of one");
			offer_name(&x, "", "version", "", "print the version and the features of this build");
			offer_name(&x, "--", "help", "", NULL);
			offer_name(&x, "--", "version", "", NULL);
		} else if (all.word.n == 2 && !strcmp(all.word.at[0], "help")) {
			offer_commands(&x);
		} else if (c) {
			VEC(char *) argv = {0};
			char from[24];
			snprintf(from, sizeof from, "%zu", all.from);
			vec_push(&argv, (char *)c->name);
			vec_push(&argv, (char *)OPTIONS_COMPLETE);
			vec_push(&argv, from);
			for (uint32_t k = 1; k < all.word.n; k++)
				vec_push(&argv, all.word.at[k]);
			vec_push(&argv, NULL);
			c->run((int)argv.n - 1, argv.at);
			vec_free(&argv);
		}
	}
	for (uint32_t k = 0; k < all.word.n; k++)
		free(all.word.at[k]);
	vec_free(&all.word);
	return STATUS_OK;
}
