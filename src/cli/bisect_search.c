/* bisect_search: lists the passes and changes of a command, and searches them. See bisect.h. */
#include "cli/bisect.h"
#include <stdlib.h>
#include <string.h>

/* ---- the lists */

static bool has_pass(const struct bisect *b, const char *name, size_t n)
{
	for (uint32_t i = 0; i < b->pass.n; i++)
		if (strlen(b->pass.at[i]) == n && !memcmp(b->pass.at[i], name, n))
			return true;
	return false;
}

static char *copy_text(const char *text, size_t n)
{
	struct buf copy = {0};
	buf_putn(&copy, text, n);
	return copy.at;
}

/* Returns true if a line is `pass NAME` or `change N: TEXT`, which --change-limit prints. lists: adds it to
 * b->pass or b->change. */
static bool is_listed(struct bisect *b, const char *line, size_t n, bool lists)
{
	static const char pass[] = "pass ", change[] = "change ";
	const char *colon = memchr(line, ':', n);
	size_t from = sizeof pass - 1;
	if (n > from && !memcmp(line, pass, from)) {
		if (lists && !has_pass(b, line + from, n - from))
			vec_push(&b->pass, copy_text(line + from, n - from));
		return true;
	}
	if (!colon || n <= sizeof change || memcmp(line, change, sizeof change - 1))
		return false;
	if (lists)
		vec_push(&b->change, copy_text(colon + 2, n - (size_t)(colon + 2 - line)));
	return true;
}

/* Runs the command, and removes the list that --change-limit prints from its output, so that the list is not
 * searched for the fault. */
static bool run_listed(struct bisect *b, const char *options, bool lists, struct attempt *a)
{
	bool ran = attempt_run(&b->attempt, &b->text, options, a);
	struct buf rest = {0};
	b->runs++;
	for (const char *s = a->out[1].at; s && *s;) {
		size_t n = strcspn(s, "\n"), end = n + (s[n] == '\n');
		if (!is_listed(b, s, n, lists))
			buf_putn(&rest, s, end);
		s += end;
	}
	buf_free(&a->out[1]);
	a->out[1] = rest;
	return ran;
}

bool bisect_list(struct bisect *b)
{
	struct attempt a;
	struct buf command = {0};
	bool ok = run_listed(b, "--change-limit=1000000000", true, &a);
	attempt_put_command(&b->attempt, &command);
	if (ok && a.code == STATUS_USAGE && b->fault.whole.code != STATUS_USAGE) {
		diag_error(b->attempt.d, E_NO_FAULT, DIAG_NOWHERE, "`%s` runs no passes", command.at);
		diag_note(b->attempt.d, DIAG_NOWHERE, "commands with an option --change-limit do");
	} else if (ok && !fault_shows(&b->fault, &a)) {
		diag_error(b->attempt.d, E_NO_FAULT, DIAG_NOWHERE, "`%s` fails only now and then",
		           command.at);
		diag_note(b->attempt.d, DIAG_NOWHERE, "--exit=N and --match=TEXT name another failure");
	}
	ok = ok && fault_shows(&b->fault, &a);
	buf_free(&command);
	attempt_free(&a);
	return ok;
}

/* ---- verdicts */

void bisect_put_options(const struct bisect *b, bool of_changes, uint32_t n, struct buf *out)
{
	if (of_changes)
		buf_printf(out, "--change-limit=%u", n);
	else
		buf_printf(out, "--stop-after=%s%s", n ? b->pass.at[n - 1] : "parse",
		           b->without_changes ? " --change-limit=0" : "");
}

enum bisect_verdict bisect_ask(struct bisect *b, bool of_changes, uint32_t n)
{
	struct attempt a;
	struct buf options = {0};
	bisect_put_options(b, of_changes, n, &options);
	progress_show(&b->progress, b->done, "%u runs; %s", b->runs, options.at);
	bool ran = run_listed(b, options.at, false, &a);
	enum bisect_verdict v = BISECT_UNCLEAR;
	if (ran && fault_shows(&b->fault, &a))
		v = BISECT_BAD;
	else if (ran && (a.code == STATUS_OK || (b->fault.match && a.code == b->fault.whole.code)))
		v = BISECT_GOOD;
	buf_free(&options);
	attempt_free(&a);
	return v;
}

/* ---- the search */

/* Moves one end of the step to the number nearest to the middle that has a verdict; false: there is none. */
static bool ask_middle(struct bisect *b, bool of_changes, struct bisect_step *s)
{
	uint32_t middle = s->good + (s->bad - s->good) / 2;
	for (uint32_t k = 0; k < 2 * (s->bad - s->good); k++) {
		uint32_t away = (k + 1) / 2;
		bool below = k & 1;
		if (below ? away >= middle - s->good : middle + away >= s->bad)
			continue;
		uint32_t n = below ? middle - away : middle + away;
		enum bisect_verdict v = bisect_ask(b, of_changes, n);
		if (b->attempt.failed || attempt_interrupted())
			return false;
		if (v == BISECT_UNCLEAR)
			continue;
		*(v == BISECT_GOOD ? &s->good : &s->bad) = n;
		return true;
	}
	return false;
}

bool bisect_search(struct bisect *b, bool of_changes, struct bisect_step *out)
{
	out->of_changes = of_changes;
	out->good = 0;
	out->bad = of_changes ? b->change.n : b->pass.n;
	const double all = out->bad;
	while (out->bad - out->good > 1 && ask_middle(b, of_changes, out))
		b->done = 1 - (out->bad - out->good) / all;
	return !b->attempt.failed && !attempt_interrupted();
}
