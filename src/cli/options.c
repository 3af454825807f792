/* options: reads a command line, using its tables. */
#include "cli/options.h"
#include "base/diag.h"
#include "cli/complete_line.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum options_result {
	OPTIONS_GO,
	OPTIONS_DONE, /* --help */
	OPTIONS_WRONG /* after reporting */
};

static const char HELP[] = "help";

/* ---- messages */

static void complain(const struct command_line *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void complain(const struct command_line *c, const char *format, ...)
{
	va_list args;
	struct buf text = {0};
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	fprintf(stderr, "hirc %s: error: %s\n", c->command, text.at);
	buf_free(&text);
}

/* Returns true if an option's name or alias is nearer than all candidates before. */
static bool suggests_option(struct suggest *s, const struct option *o)
{
	const char *before = s->best;
	if (o->name)
		suggest_try(s, o->name);
	if (o->name && o->alias)
		suggest_try(s, o->alias + strspn(o->alias, "-"));
	return s->best != before;
}

/* Prints a note about an option of another program. Returns false if the option is none. */
static bool note_other_option(const struct command_line *c, const char *name)
{
	const struct other_option *o = c->others;
	while (o && o->there && strcmp(o->there, name))
		o++;
	if (!o || !o->there)
		return false;
	fprintf(stderr, "note: %s\n", o->here);
	return true;
}

static void unknown_option(const struct command_line *c, const char *word, size_t n)
{
	struct buf name = {0};
	buf_putn(&name, word, n);
	complain(c, "unknown option '%s'", name.at);
	if (note_other_option(c, name.at)) {
		buf_free(&name);
		return;
	}
	const char *bare = name.at;
	while (*bare == '-')
		bare++;
	struct suggest s = suggest_start(bare);
	suggest_try(&s, HELP);
	const struct option *near = NULL;
	for (unsigned t = 0; t < c->table_n; t++)
		for (unsigned i = 0; i < c->table[t].n; i++)
			if (suggests_option(&s, &c->table[t].row[i]))
				near = &c->table[t].row[i];
	if (s.best)
		fprintf(stderr, "note: did you mean '--%s'?\n", near ? near->name : HELP);
	else
		fprintf(stderr, "note: `hirc %s --help` lists the options\n", c->command);
	buf_free(&name);
}

/* ---- values */

/* Returns true if the first n bytes of text are a word of the value `a|b|c`, or if value lists no words. */
static bool word_allowed(const char *value, const char *text, size_t n)
{
	if (!value || !strchr(value, '|'))
		return true;
	for (const char *w = value; *w;) {
		size_t length = strcspn(w, "|");
		if (length == n && !memcmp(w, text, n))
			return true;
		w += length;
		w += *w == '|';
	}
	return false;
}

/* Returns true if the value of o, or each of its words between commas, is allowed. */
static bool words_allowed(const struct option *o, const char *text)
{
	for (;;) {
		size_t n = o->several ? strcspn(text, ",") : strlen(text);
		if (!word_allowed(o->value, text, n))
			return false;
		if (!text[n])
			return true;
		text += n + 1;
	}
}

static bool parse_integer(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (errno || end == text || *end)
		return false;
	*out = v;
	return true;
}

static bool store_number(const struct command_line *c, const struct option *o, const char *spelling,
                         const char *text)
{
	int64_t v;
	bool ok = o->kind == OPTION_SIZE ? str_parse_size(text, &v) : parse_integer(text, &v);
	if (!ok) {
		complain(c, "%s: '%s' is not %s", spelling, text,
		         o->kind == OPTION_SIZE ? "a size (like 4096, 8K, 32M, 8G)" : "a whole number");
		return false;
	}
	bool bounded = o->min || o->max;
	if (bounded && (v < o->min || v > o->max)) {
		complain(c, "%s: %lld is out of range (%lld to %lld)", spelling, (long long)v,
		         (long long)o->min, (long long)o->max);
		return false;
	}
	*(int64_t *)options_field(c, o) = v;
	return true;
}

static void push_given(struct command_line *c, const struct option *o, const char *text)
{
	vec_push(&c->given, o);
	vec_push(&c->given_text, text);
}

static bool store_option(struct command_line *c, const struct option *o, const char *text)
{
	struct buf spelling = {0};
	bool ok = true;
	push_given(c, o, text);
	option_put_name(o, &spelling);
	switch (o->kind) {
	case OPTION_TEXT:
	case OPTION_MAYBE:
		ok = words_allowed(o, text);
		if (ok)
			*(const char **)options_field(c, o) = text;
		else
			complain(c, "%s: '%s' is not one of %s", spelling.at, text, o->value);
		break;
	case OPTION_INT:
	case OPTION_SIZE:
		ok = store_number(c, o, spelling.at, text);
		break;
	case OPTION_CALL:
		ok = o->call(options_field(c, o), text);
		break;
	case OPTION_SWITCH:
		break;
	}
	buf_free(&spelling);
	return ok;
}

/* ---- reading */

static const char *next_word(const struct command_line *c, const struct option *o, int argc, char **argv,
                             int *i)
{
	if (*i + 1 < argc)
		return argv[++*i];
	struct buf spelling = {0};
	option_put_name(o, &spelling);
	complain(c, "%s needs a value: %s", spelling.at, o->value ? o->value : "VALUE");
	buf_free(&spelling);
	return NULL;
}

/* Refuses `--dump hir`, in which `hir` would be read as a file. Returns true after reporting. */
static bool takes_word(const struct command_line *c, const struct option *o, const char *next)
{
	if (!next || !o->value || !strchr(o->value, '|') || !word_allowed(o->value, next, strlen(next)) ||
	    access(next, F_OK) == 0)
		return false;
	complain(c, "there is no file '%s'", next);
	fprintf(stderr, "note: did you mean --%s=%s?\n", o->name, next);
	return true;
}

/* Reads a `--…` word or an alias; increments *i if the value is the next word. */
static bool read_long(struct command_line *c, int argc, char **argv, int *i)
{
	const char *word = argv[*i] + 2, *equals = strchr(word, '=');
	size_t n = equals ? (size_t)(equals - word) : strlen(word);
	const struct option *o = options_find(c, argv[*i], n + 2);
	bool off = false;
	if (!o && n > 3 && !memcmp(word, "no-", 3)) {
		o = options_find_name(c, word + 3, n - 3);
		off = true;
	}
	if (equals && n == strlen(HELP) && !memcmp(word, HELP, n)) {
		complain(c, "--help takes no value");
		return false;
	}
	if (!o || (off && o->kind != OPTION_SWITCH)) {
		unknown_option(c, argv[*i], n + 2);
		return false;
	}
	if (o->kind == OPTION_SWITCH) {
		if (equals) {
			complain(c, "--%s takes no value (--no-%s switches it off)", o->name, o->name);
			return false;
		}
		*(bool *)options_field(c, o) = !off;
		push_given(c, o, off ? "no" : "yes");
		return true;
	}
	if (!equals && o->kind == OPTION_MAYBE && takes_word(c, o, *i + 1 < argc ? argv[*i + 1] : NULL))
		return false;
	const char *text = equals                    ? equals + 1
	                   : o->kind == OPTION_MAYBE ? o->otherwise
	                                             : next_word(c, o, argc, argv, i);
	return text && store_option(c, o, text);
}

static bool read_letters(struct command_line *c, int argc, char **argv, int *i)
{
	const char *word = argv[*i];
	const struct option *o = options_find(c, word, 2);
	if (!o || (o->kind == OPTION_SWITCH && word[2])) {
		unknown_option(c, word, strlen(word));
		return false;
	}
	if (o->kind == OPTION_SWITCH) {
		*(bool *)options_field(c, o) = true;
		push_given(c, o, "yes");
		return true;
	}
	const char *text = word[2]                   ? word + 2
	                   : o->kind == OPTION_MAYBE ? o->otherwise
	                                             : next_word(c, o, argc, argv, i);
	return text && store_option(c, o, text);
}

/* Returns true if a word of HIRC_FLAGS may be meant for other commands, so that this one may ignore it. */
static bool is_for_all(const char *word)
{
	return !strcmp(word, "--quiet") || !strncmp(word, "--color=", 8);
}

/* Returns true if a word is `--name`, or an alias such as `-np`. */
static bool is_long(const struct command_line *c, const char *word)
{
	size_t n = strcspn(word, "=");
	return word[1] == '-' || (n > 2 && options_find(c, word, n));
}

static enum options_result read_words(struct command_line *c, int argc, char **argv, bool files)
{
	bool ended = false;
	for (int i = 0; i < argc; i++) {
		char *word = argv[i];
		if (ended || word[0] != '-' || !word[1]) {
			if (!files) {
				complain(c, "HIRC_FLAGS has '%s', which is not an option", word);
				return OPTIONS_WRONG;
			}
			vec_push(&c->file, word);
		} else if (!strcmp(word, "--")) {
			ended = true;
		} else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			return OPTIONS_DONE;
		} else if (!files && is_for_all(word) && !options_find(c, word, strcspn(word, "="))) {
			continue; /* this command has no progress bar or no colours */
		} else if (!(is_long(c, word) ? read_long(c, argc, argv, &i)
		                              : read_letters(c, argc, argv, &i))) {
			return OPTIONS_WRONG;
		}
	}
	return OPTIONS_GO;
}

/* Reads HIRC_FLAGS, split at blanks. */
static enum options_result read_environment(struct command_line *c)
{
	const char *text = getenv("HIRC_FLAGS");
	VEC(char *) word = {0};
	if (!text || !*text)
		return OPTIONS_GO;
	c->environment = mem_strdup(text);
	for (char *rest = c->environment, *w; (w = strtok_r(rest, " \t\n", &rest));)
		vec_push(&word, w);
	enum options_result r = read_words(c, (int)word.n, word.at, false);
	if (r == OPTIONS_WRONG)
		fprintf(stderr, "note: from the environment: HIRC_FLAGS='%s'\n", text);
	c->of_environment = c->given.n;
	vec_free(&word);
	return r;
}

/* ---- entry */

bool options_parse(struct command_line *c, int argc, char **argv, enum status *status)
{
	struct buf help = {0};
	if (argc > 3 && !strcmp(argv[1], OPTIONS_COMPLETE)) {
		complete_line(c, argc - 2, argv + 2);
		*status = STATUS_OK;
		return false;
	}
	for (unsigned t = c->table_n; t-- > 0;) /* the first table with a row for a field sets its default */
		options_set_defaults(&c->table[t]);
	enum options_result r = read_environment(c);
	if (r == OPTIONS_GO)
		r = read_words(c, argc - 1, argv + 1, true);
	if (r == OPTIONS_DONE) {
		options_put_help(c, &help);
		fputs(help.at, stdout); /* main flushes it */
	}
	buf_free(&help);
	bool reads = r == OPTIONS_GO && !c->file.n && c->min_files == 1 && options_read_input(c);
	if (r == OPTIONS_GO && !reads && c->file.n < c->min_files) {
		complain(c, "%s",
		         c->min_files == 1 ? "no input file ('-' is standard input)" : "too few files");
		r = OPTIONS_WRONG;
	}
	if (r == OPTIONS_GO && c->max_files && c->file.n > c->max_files) {
		complain(c, "too many files: '%s'", c->file.at[c->max_files]);
		r = OPTIONS_WRONG;
	}
	struct buf wrong = {0};
	if (r == OPTIONS_GO && (!options_spare_files(c, &wrong) || !options_check_types(c, &wrong))) {
		complain(c, "%s", wrong.at);
		r = OPTIONS_WRONG;
	}
	buf_free(&wrong);
	*status = r == OPTIONS_WRONG ? STATUS_USAGE : STATUS_OK;
	return r == OPTIONS_GO;
}

void options_put_word(const char *word, struct buf *out)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
	if (*word && !word[strspn(word, plain)]) {
		buf_puts(out, word);
		return;
	}
	buf_putc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *word);
	buf_putc(out, '\'');
}

void options_put_given(const struct command_line *c, uint32_t k, struct buf *out)
{
	const struct option *o = c->given.at[k];
	const char *text = c->given_text.at[k];
	struct buf word = {0};
	buf_putc(out, ' ');
	if (o->kind == OPTION_SWITCH) {
		options_put_given_name(c, k, out);
	} else if (o->name) {
		buf_printf(&word, "--%s=%s", o->name, text);
		options_put_word(word.at, out);
	} else {
		buf_printf(out, "-%c ", o->letter);
		options_put_word(text, out);
	}
	buf_free(&word);
}

void options_free(struct command_line *c)
{
	vec_free(&c->file);
	vec_free(&c->given);
	vec_free(&c->given_text);
	free(c->environment);
	c->environment = NULL;
}
