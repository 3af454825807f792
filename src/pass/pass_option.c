/* pass_option: see pass_option.h. */
#include "pass/pass_option.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct pass_option_info pass_option_info[PASS_OPTION_COUNT] = {
#define PASS_NUMBER(pass, option, name, first, most, help)                                                   \
	[PASS_##pass##_##option] = {PASS_##pass, name, NULL, first, most, help},
#define PASS_WORD(pass, option, name, help, ...)                                                             \
	[PASS_##pass##_##option] = {PASS_##pass, name, (const char *const[]){__VA_ARGS__, NULL}, 0, 0, help},
#include "pass/pass_options.def"
#undef PASS_NUMBER
#undef PASS_WORD
};

void pass_option_defaults(enum pass_id pass, int64_t *option)
{
	for (unsigned k = 0; k < PASS_OPTION_COUNT; k++)
		if (pass_option_info[k].pass == pass)
			option[k] = pass_option_info[k].first;
}

/* The option of a pass with this name; PASS_OPTION_COUNT: there is none. */
static unsigned find_option(enum pass_id pass, const char *name)
{
	unsigned k = 0;
	while (k < PASS_OPTION_COUNT &&
	       (pass_option_info[k].pass != pass || strcmp(pass_option_info[k].name, name) != 0))
		k++;
	return k;
}

static void report_unknown(struct diag *d, enum pass_id pass, const char *name)
{
	struct suggest s = suggest_start(name);
	struct buf names = {0};
	for (unsigned k = 0; k < PASS_OPTION_COUNT; k++) {
		if (pass_option_info[k].pass != pass)
			continue;
		suggest_try(&s, pass_option_info[k].name);
		buf_printf(&names, "%s%s", names.n ? ", " : "", pass_option_info[k].name);
	}
	diag_error(d, E_PASS_OPTION_UNKNOWN, DIAG_NOWHERE, "%s has no option '%s'", pass_info[pass].name,
	           name);
	if (s.best)
		diag_suggest(d, &s);
	else if (names.n)
		diag_note(d, DIAG_NOWHERE, "its options: %s", names.at);
	else
		diag_note(d, DIAG_NOWHERE, "it has no options");
	buf_free(&names);
}

static bool set_word(struct diag *d, const struct pass_option_info *p, const char *value, int64_t *out)
{
	struct buf words = {0};
	struct suggest s = suggest_start(value);
	for (unsigned k = 0; p->words[k]; k++) {
		if (!strcmp(p->words[k], value)) {
			*out = k;
			buf_free(&words);
			return true;
		}
		suggest_try(&s, p->words[k]);
		buf_printf(&words, "%s%s", !k ? "" : p->words[k + 1] ? ", " : " or ", p->words[k]);
	}
	diag_error(d, E_PASS_OPTION_VALUE, DIAG_NOWHERE, "option '%s' of %s is %s, not '%s'", p->name,
	           pass_info[p->pass].name, words.at, value);
	diag_suggest(d, &s);
	buf_free(&words);
	return false;
}

static bool set_number(struct diag *d, const struct pass_option_info *p, const char *value, int64_t *out)
{
	char *end;
	errno = 0;
	long long number = strtoll(value, &end, 10);
	if (*end) {
		diag_error(d, E_PASS_OPTION_VALUE, DIAG_NOWHERE, "option '%s' of %s takes a number, not '%s'",
		           p->name, pass_info[p->pass].name, value);
		return false;
	}
	if (errno || number < 0 || number > p->most) {
		diag_error(d, E_PASS_OPTION_VALUE, DIAG_NOWHERE,
		           "option '%s' of %s: %s is out of range (0 to %lld)", p->name,
		           pass_info[p->pass].name, value, (long long)p->most);
		return false;
	}
	*out = number;
	return true;
}

static bool report_valueless(struct diag *d, enum pass_option option)
{
	struct buf values = {0};
	const struct pass_option_info *p = &pass_option_info[option];
	pass_option_put_values(option, &values);
	diag_error(d, E_PASS_OPTION_VALUE, DIAG_NOWHERE, "option '%s' of %s needs a value: %s=%s", p->name,
	           pass_info[p->pass].name, p->name, values.at);
	buf_free(&values);
	return false;
}

bool pass_option_set(struct diag *d, enum pass_id pass, const char *text, size_t n, int64_t *option)
{
	struct buf name = {0};
	buf_putn(&name, text, n);
	char *value = strchr(name.at, '=');
	if (value)
		*value++ = 0;
	unsigned k = find_option(pass, name.at);
	bool ok = false;
	if (k == PASS_OPTION_COUNT)
		report_unknown(d, pass, name.at);
	else if (!value || !*value)
		ok = report_valueless(d, k);
	else if (pass_option_info[k].words)
		ok = set_word(d, &pass_option_info[k], value, &option[k]);
	else
		ok = set_number(d, &pass_option_info[k], value, &option[k]);
	buf_free(&name);
	return ok;
}

void pass_option_put_values(enum pass_option option, struct buf *out)
{
	const struct pass_option_info *p = &pass_option_info[option];
	if (!p->words && p->most == 1)
		buf_printf(out, "%d|%d", p->first != 0, p->first == 0);
	else if (!p->words)
		buf_printf(out, "%lld", (long long)p->first);
	for (unsigned k = 0; p->words && p->words[k]; k++)
		buf_printf(out, "%s%s", k ? "|" : "", p->words[k]);
}

void pass_option_put_help(enum pass_option option, struct buf *out)
{
	const struct pass_option_info *p = &pass_option_info[option];
	buf_puts(out, p->help);
	if (p->most > 1)
		buf_printf(out, " (at most %lld)", (long long)p->most);
}
