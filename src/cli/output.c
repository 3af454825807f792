/* output: see output.h. */
#include "cli/output.h"
#include "base/escape.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

/* Returns true if output failed because its reader closed the pipe. */
static bool unread(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

static bool report_unwritable(int error)
{
	__fpurge(stdout);
	if (error == EPIPE || (!error && unread()))
		return false;
	clearerr(stdout);
	fprintf(stderr, "hirc: error: cannot write '<stdout>'%s%s\n", error ? ": " : "",
	        error ? strerror(error) : "");
	return false;
}

bool output_write(const struct buf *text)
{
	if (text->error)
		return report_unwritable(text->error);
	if (ferror(stdout) || !text->n)
		return output_flush();
	errno = 0;
	if (fwrite(text->at, 1, text->n, stdout) != text->n)
		return report_unwritable(errno);
	return output_flush();
}

bool output_write_escaped(const struct buf *text)
{
	struct buf shown = {.error = text->error};
	escape_put(&shown, text->at, text->n);
	bool ok = output_write(&shown);
	buf_free(&shown);
	return ok;
}

bool output_flush(void)
{
	errno = 0;
	if (fflush(stdout) != 0)
		return report_unwritable(errno);
	return ferror(stdout) ? report_unwritable(0) : true;
}

enum status output_status(bool ok)
{
	return ok ? STATUS_OK : ferror(stdout) ? STATUS_UNREAD : STATUS_DIAGNOSTICS;
}
