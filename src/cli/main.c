/* main: the commands of hirc. */
#include "base/diag.h"
#include "base/status.h"
#include "cli/commands.h"
#include "cli/complete_line.h"
#include "cli/output.h"
#include "cli/version.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void print_help(FILE *out)
{
	unsigned n;
	const struct command *all = commands_all(&n);
	fputs("usage: hirc COMMAND [OPTION…] FILE…\n\nhirc compiles and runs distributed tensor programs at "
	      "the host level.\n\nCommands:\n",
	      out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "  %-11s %s%s%s%s\n", all[i].name, all[i].help, all[i].alias ? " (also: " : "",
		        all[i].alias ? all[i].alias : "", all[i].alias ? ")" : "");
	fputs("\n  hirc help COMMAND    options of a command, as hirc COMMAND --help\n"
	      "  hirc version         version and features of this build\n",
	      out);
}

static int unknown_command(const char *word)
{
	unsigned n;
	const struct command *all = commands_all(&n);
	struct suggest s = suggest_start(word);
	fprintf(stderr, "hirc: error: unknown command '%s'\n", word);
	for (unsigned i = 0; i < n; i++) {
		suggest_try(&s, all[i].name);
		if (all[i].alias)
			suggest_try(&s, all[i].alias);
	}
	if (s.best)
		fprintf(stderr, "note: did you mean '%s'?\n", s.best);
	else
		fputs("note: `hirc --help` lists the commands\n", stderr);
	return STATUS_USAGE;
}

/* Runs `hirc help`, and `hirc help COMMAND` as `hirc COMMAND --help`. */
static int help(const char *word)
{
	if (!word) {
		print_help(stdout);
		return STATUS_OK;
	}
	const struct command *c = command_find(word);
	return c ? c->run(2, (char *[]){(char *)c->name, "--help", NULL}) : unknown_command(word);
}

static int run_command(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return STATUS_USAGE;
	}
	const char *word = argv[1];
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
		return help(argv[2]);
	if (!strcmp(word, "--version") || !strcmp(word, "version")) {
		struct buf text = {0};
		version_put(&text);
		fputs(text.at, stdout);
		buf_free(&text);
		return STATUS_OK;
	}
	if (!strcmp(word, "complete")) /* for shells; not listed */
		return complete_words(argc - 2, argv + 2);
	const struct command *c = command_find(word);
	return c ? c->run(argc - 1, argv + 1) : unknown_command(word);
}

/* Opens /dev/null for each closed standard stream. Otherwise a file opened later would get the stream's
 * number, and the stream's output. */
static void keep_streams(void)
{
	static const int flags[] = {O_WRONLY, O_RDONLY,
	                            O_RDONLY}; /* the opposite direction, so that using the stream fails */
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", flags[fd]); /* open takes the lowest free number, which is fd */
}

/* Returns false after a message if a program that the limits on nesting allow could need more stack than there
 * is. The deepest one takes 2 MiB, and 4 MiB with a sanitizer. */
static bool has_stack(void)
{
	enum { NEEDED = 4 << 20 };
	struct rlimit limit;
	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED)
		return true;
	fprintf(
	    stderr,
	    "hirc: error: the stack is limited to %llu KiB, and hirc needs %d KiB (`ulimit -s 8192` sets the "
	    "usual limit)\n",
	    (unsigned long long)limit.rlim_cur >> 10, NEEDED >> 10);
	return false;
}

int main(int argc, char **argv)
{
	/* A closed pipe or a limit on the size of files must be a failed write, also on ranks: then
	 * unfinished files are removed, and ranks end. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	keep_streams();
	int status = has_stack() ? run_command(argc, argv) : STATUS_ABSENT;
	enum status written = output_status(output_flush());
	return written == STATUS_UNREAD || status == STATUS_OK ? (int)written : status;
}
