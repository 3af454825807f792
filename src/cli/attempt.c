/* attempt: see attempt.h. */
#include "cli/attempt.h"
#include "base/arena.h"
#include "golden/child.h"
#include "rt/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OUT, ERR };
enum { GLANCE = 2 };              /* ms between two checks if the command has ended */
enum { MOST_OUTPUT = 4 << 20 };   /* bytes of output that are read */
enum { NUMBER = sizeof "E0203" }; /* with its NUL */

/* ---- the command */

bool attempt_read(struct attempt_command *c, const struct command_line *line, const char *does,
                  const char *color)
{
	if (line->file.n < 2) {
		fprintf(stderr, "hirc %s: error: no command: `hirc %s %s -- check` %s `hirc check`\n",
		        line->command, line->command, line->file.at[0], does);
		return false;
	}
	c->word = line->file.at + 1;
	c->word_n = line->file.n - 1;
	c->d = diag_new(stderr, DIAG_TEXT, color_setting_find(color));
	return true;
}

void attempt_close(struct attempt_command *c)
{
	diag_finish(c->d);
	diag_free(c->d);
}

/* ---- the place of the program */

static sigset_t ending_signals(void)
{
	sigset_t s;
	sigemptyset(&s);
	rt_signals_add_ends(&s);
	return s;
}

int attempt_interrupted(void)
{
	sigset_t pending;
	sigpending(&pending);
	return rt_signals_find_end(&pending);
}

static void report_unwritable(struct attempt_command *c)
{
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->path.at,
	           strerror(errno));
	c->failed = true;
}

static bool make_folder(struct attempt_command *c)
{
	const char *temporary = getenv("TMPDIR");
	buf_printf(&c->folder, "%s/hirc-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (mkdtemp(c->folder.at))
		return true;
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot make a folder like '%s': %s", c->folder.at,
	           strerror(errno));
	diag_note(c->d, DIAG_NOWHERE, "the environment variable TMPDIR names the folder for temporary files");
	buf_free(&c->folder);
	return false;
}

/* Makes an empty file beside the original, with a name that nobody can guess. */
static bool make_file_beside(struct attempt_command *c, const char *path, const char *name)
{
	buf_printf(&c->path, "%.*s.hirc-XXXXXX-%s", (int)(name - path), path, name);
	int f = mkostemps(c->path.at, (int)strlen(name) + 1, O_CLOEXEC);
	if (f >= 0)
		return close(f) == 0;
	report_unwritable(c);
	buf_free(&c->path);
	return false;
}

bool attempt_begin(struct attempt_command *c, const char *path, const struct buf *text)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool is_stdin = !strcmp(path, "-");
	sigset_t ending = ending_signals();
	c->hirc = realpath("/proc/self/exe", NULL);
	if (!c->hirc) {
		diag_error(c->d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot run '/proc/self/exe': %s",
		           strerror(errno));
		return false;
	}
	if (!make_folder(c))
		return false;
	c->name = is_stdin ? "<stdin>" : path;
	sigprocmask(SIG_BLOCK, &ending, NULL);
	if (!is_stdin && text->at && strstr(text->at, "file(")) /* data is found from its folder */
		return make_file_beside(c, path, name);
	buf_printf(&c->path, "%s/%s", c->folder.at, is_stdin ? "stdin.hir" : name);
	return true;
}

void attempt_end(struct attempt_command *c)
{
	if (c->path.n)
		unlink(c->path.at);
	if (c->folder.n)
		rmdir(c->folder.at);
	buf_free(&c->path);
	buf_free(&c->folder);
	free(c->hirc);
}

/* Writes the program. One file serves all runs, since the previous command has ended. */
static bool write_program(struct attempt_command *c, const struct buf *text)
{
	int f = open(c->path.at, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	ssize_t n = f < 0 ? -1 : 0;
	for (size_t done = 0; n >= 0 && done < text->n; done += (size_t)n)
		n = write(f, text->at + done, text->n - done);
	int error = errno;
	if (f >= 0)
		close(f);
	errno = error;
	if (n < 0)
		report_unwritable(c);
	return n >= 0;
}

/* ---- running */

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void put_words(const struct attempt_command *c, const char *program, struct buf *out)
{
	bool named = false;
	for (uint32_t i = 0; i < c->word_n; i++) {
		bool here = program && !strcmp(c->word[i], "%s");
		buf_putc(out, ' ');
		options_put_word(here ? program : c->word[i], out);
		named = named || here;
	}
	if (program && !named) {
		buf_putc(out, ' ');
		options_put_word(program, out);
	}
}

void attempt_put_command(const struct attempt_command *c, struct buf *out)
{
	buf_puts(out, "hirc");
	put_words(c, NULL, out);
}

/* Waits for the end of the command; false: interrupted. */
static bool wait_for(struct attempt_command *c, struct golden_child *child, int *code)
{
	int64_t end = now_ms() + c->timeout * 1000;
	bool late = false, interrupted = false;
	while (!golden_child_ended(child, code)) {
		struct pollfd at[2] = {{child->pipe[OUT], POLLIN, 0}, {child->pipe[ERR], POLLIN, 0}};
		poll(at, 2, GLANCE);
		for (int i = 0; i < 2; i++)
			if (at[i].revents)
				golden_child_read(child, i);
		late = late || now_ms() >= end;
		interrupted = interrupted || attempt_interrupted();
		if (late || interrupted)
			golden_child_signal(child, SIGKILL);
	}
	*code = late ? ATTEMPT_LATE : *code;
	return !interrupted;
}

/* Finds the number of the first error: `[E0203]` in text, `"E0203"` in JSON. */
static bool find_number(const struct buf *text, char number[NUMBER])
{
	for (const char *s = text->at; s && (s = strpbrk(s, "[\""));) {
		s++;
		if (s[0] == 'E' && strspn(s + 1, "0123456789") == 4 && (s[5] == ']' || s[5] == '"')) {
			memcpy(number, s, NUMBER - 1);
			return true;
		}
	}
	return false;
}

/* Puts output, with the original's name in place of the temporary path. text: NULL if there is none. */
static void put_with_name(const struct attempt_command *c, const char *text, struct buf *out)
{
	buf_puts(out, "");
	while (text && *text) {
		const char *path = strstr(text, c->path.at);
		buf_putn(out, text, path ? (size_t)(path - text) : strlen(text));
		buf_puts(out, path ? c->name : "");
		text = path ? path + c->path.n : NULL;
	}
}

bool attempt_run(struct attempt_command *c, const struct buf *text, const char *extra, struct attempt *out)
{
	struct golden_child child = {.most = MOST_OUTPUT};
	struct buf command = {0};
	*out = (struct attempt){0};
	if (!write_program(c, text))
		return false;
	buf_puts(&command, "ulimit -c 0; exec ");
	options_put_word(c->hirc, &command);
	put_words(c, c->path.at, &command);
	buf_printf(&command, "%s%s", extra ? " " : "", extra ? extra : "");
	bool ok = golden_child_start(&child, command.at, ".", environ);
	if (!ok) {
		diag_error(c->d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot run '%s': %s", c->hirc,
		           strerror(errno));
		c->failed = true;
	}
	ok = ok && wait_for(c, &child, &out->code);
	for (int i = 0; i < 2 && ok; i++)
		put_with_name(c, child.text[i].at, &out->out[i]);
	golden_child_free(&child);
	buf_free(&command);
	if (ok && !find_number(&out->out[ERR], out->number))
		find_number(&out->out[OUT], out->number);
	return ok;
}

void attempt_put_end(const struct attempt_command *c, const struct attempt *a, struct buf *out)
{
	if (a->code == ATTEMPT_LATE)
		buf_printf(out, "does not end within %lld s", (long long)c->timeout);
	else if (a->code > 128)
		buf_printf(out, "ends by signal %d", a->code - 128);
	else
		buf_printf(out, "exits with %d", a->code);
	if (*a->number)
		buf_printf(out, " and %s", a->number);
}

void attempt_free(struct attempt *a)
{
	buf_free(&a->out[OUT]);
	buf_free(&a->out[ERR]);
}
