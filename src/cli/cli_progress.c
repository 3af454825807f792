/* cli_progress: see cli_progress.h. */
#include "cli/cli_progress.h"
#include "base/str.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH = 30, DELAY_MS = 300, BETWEEN_MS = 100, NARROWEST = 20, USUAL_COLUMNS = 80 };

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Returns the time to wait before the bar is drawn; 0 with HIRC_PROGRESS=now. */
static int64_t wait_ns(int ms)
{
	const char *when = getenv("HIRC_PROGRESS");
	return when && !strcmp(when, "now") ? 0 : (int64_t)ms * 1000000;
}

/* Checks each time, since standard error of a rank may be another file than that of the process that started
 * it. */
static bool has_terminal(void)
{
	const char *kind = getenv("TERM");
	return isatty(STDERR_FILENO) && !(kind && !strcmp(kind, "dumb"));
}

/* Writes in one call, so that no rank's line comes between; ignores errors of the terminal. */
static void write_terminal(const char *text, size_t n)
{
	ssize_t written = write(STDERR_FILENO, text, n);
	(void)written;
}

static size_t columns(void)
{
	struct winsize size;
	bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
	return !known ? USUAL_COLUMNS : size.ws_col < NARROWEST ? NARROWEST : size.ws_col;
}

void progress_show(struct progress *p, double done, const char *what, ...)
{
	int64_t now = now_ns();
	if (!p->next)
		p->next = now + wait_ns(DELAY_MS);
	if (p->quiet || now < p->next || !has_terminal())
		return;
	p->next = now + wait_ns(BETWEEN_MS);
	p->shown = true;
	struct buf line = {0};
	va_list args;
	done = done < 0 ? 0 : done > 1 ? 1 : done;
	unsigned full = (unsigned)(done * WIDTH);
	buf_putc(&line, '[');
	buf_pad(&line, '=', full);
	buf_pad(&line, ' ', WIDTH - full);
	buf_printf(&line, "] %3d %% ", (int)(done * 100));
	va_start(args, what);
	buf_vprintf(&line, what, args);
	va_end(args);
	size_t room = columns() - 1; /* a longer text wraps, and \r could not erase its first line */
	for (line.n = line.n > room ? room : line.n; line.n && (line.at[line.n] & 0xc0) == 0x80;)
		line.n--; /* keeps UTF-8 characters whole */
	struct buf text = {0};
	buf_printf(&text, "\r\033[K%.*s", (int)line.n, line.at);
	fflush(stderr);
	write_terminal(text.at, text.n);
	buf_free(&line);
	buf_free(&text);
}

void progress_end(void *progress)
{
	struct progress *p = progress;
	static const char erase[] = "\r\033[K";
	if ((p->shown || p->of_ranks) && !p->quiet && has_terminal())
		write_terminal(erase, sizeof erase - 1);
	p->shown = false;
}
