/* output: see output.h. SIGPIPE is ignored (main.c), so that a closed pipe is an error like any other. */
#include "cli/output.h"
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

static void complain(int error)
{
	if (error == EPIPE)
		return;
	fprintf(stderr, "hirc: error: cannot write '<stdout>'%s%s\n", error ? ": " : "",
	        error ? strerror(error) : "");
}

bool output_flush(void)
{
	errno = 0;
	bool failed = fflush(stdout) != 0;
	int error = errno;
	if (!failed && !ferror(stdout))
		return true;
	__fpurge(stdout);
	clearerr(stdout);
	complain(failed ? error : 0);
	return false;
}
