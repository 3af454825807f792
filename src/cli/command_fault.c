/* command_fault: see command_fault.h. */
#include "cli/command_fault.h"
#include <stdlib.h>
#include <string.h>

bool fault_read_exit(void *fault_exit, const char *text)
{
	char *end;
	long code = strtol(text, &end, 10);
	if (!*text || *end || code < 0 || code > 255) {
		fprintf(stderr, "hirc: error: --exit takes an exit code, 0 to 255, not '%s'\n", text);
		return false;
	}
	*(struct fault_exit *)fault_exit = (struct fault_exit){.given = true, .code = (int)code};
	return true;
}

/* Returns true if n bytes inside a text, from `at` on, belong to a name that the text has there. */
static bool is_in_name(const char *text, const char *at, size_t n, const char *name)
{
	size_t length = strlen(name);
	for (const char *s = at; n <= length && s + length >= at + n; s--) {
		if (!strncmp(s, name, length))
			return true;
		if (s == text)
			break;
	}
	return false;
}

/* Returns true if the output has the text of --match. The name of the program begins every message, so a
 * match inside the name says nothing. */
static bool has_match(const struct fault *f, const struct attempt *a)
{
	for (int i = 0; i < 2; i++)
		for (const char *s = a->out[i].at; s && (s = strstr(s, f->match)); s++)
			if (!is_in_name(a->out[i].at, s, strlen(f->match), f->name))
				return true;
	return false;
}

bool fault_shows(const struct fault *f, const struct attempt *a)
{
	if (a->code != (f->exit.given ? f->exit.code : f->whole.code))
		return false;
	if (f->match)
		return has_match(f, a);
	return f->exit.given || !strcmp(a->number, f->whole.number);
}

bool fault_find(struct fault *f, struct attempt_command *c, const struct buf *text)
{
	struct buf command = {0}, end = {0};
	f->name = c->name;
	if (!attempt_run(c, text, NULL, &f->whole))
		return false;
	int code = f->whole.code;
	bool stated = f->exit.given || f->match;
	if ((stated || (code && code != STATUS_USAGE && code != ATTEMPT_LATE)) && fault_shows(f, &f->whole))
		return true;
	attempt_put_command(c, &command);
	attempt_put_end(c, &f->whole, &end);
	if (f->match && (!f->exit.given || code == f->exit.code))
		diag_error(c->d, E_NO_FAULT, DIAG_NOWHERE, "`%s` prints no '%s'", command.at, f->match);
	else
		diag_error(c->d, E_NO_FAULT, DIAG_NOWHERE, "`%s` %s", command.at, end.at);
	if (code == STATUS_USAGE && f->whole.out[1].n)
		diag_note(c->d, DIAG_NOWHERE, "it printed: %.*s", (int)strcspn(f->whole.out[1].at, "\n"),
		          f->whole.out[1].at);
	if (code == ATTEMPT_LATE)
		diag_note(c->d, DIAG_NOWHERE,
		          "--timeout=SECONDS gives it more time; --exit=%d takes this end for the failure",
		          ATTEMPT_LATE);
	else
		diag_note(c->d, DIAG_NOWHERE, "--exit=N and --match=TEXT name another failure");
	buf_free(&command);
	buf_free(&end);
	return false;
}

void fault_free(struct fault *f)
{
	attempt_free(&f->whole);
}
