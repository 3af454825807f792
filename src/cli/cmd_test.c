/* cmd_test: hirc test: runs golden tests: programs that contain their command and its output.
 *
 *     hirc test tests/                      all tests of a folder, one on each core at a time
 *     hirc test --update tests/gather.hir   write the output as the expected output
 *     hirc test --junit=results.xml tests/  for CI                                              */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "golden/find.h"
#include "golden/golden_report.h"
#include <errno.h>
#include <regex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL_SKIPPED = 77, BY_SIGNAL = 128, MOST_JOBS = 1024, MOST_SECONDS = 1 << 20 };

struct test_command {
	struct golden_options options;
	int64_t jobs;
	const char *filter, *junit, *hirc, *color;
	bool tap, json, verbose, colored;
	bool counts_up; /* the last line of the terminal shows the number of tests done */
	struct golden_paths paths;
	struct golden_counts counts;
	struct buf cases;     /* for JUnit */
	struct table results; /* of --json */
	struct buf hirc_path;
	bool lost; /* standard output could not be written */
	struct diag *d;
};

static bool add_feature(void *to, const char *text)
{
	struct test_command *c = to;
	if (!*text || *text == '=' || *text == '!') {
		fprintf(stderr, "hirc test: error: --feature takes NAME or NAME=COMMAND, not '%s'\n", text);
		return false;
	}
	golden_feature_state(&c->options.feature, text);
	return true;
}

/* ---- the selected tests */

/* Finds the program that runs as `hirc` in commands. */
static bool find_hirc(struct test_command *c)
{
	errno = 0;
	char *path = realpath(c->hirc ? c->hirc : "/proc/self/exe", NULL);
	struct stat is;
	if (path && stat(path, &is) == 0 && !S_ISREG(is.st_mode))
		errno = EISDIR;
	else if (path && access(path, X_OK) == 0)
		errno = 0;
	if (errno) {
		diag_error(c->d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot run '%s': %s",
		           c->hirc ? c->hirc : "/proc/self/exe", strerror(errno));
		diag_note(c->d, DIAG_NOWHERE, "--hirc=PATH is the program that tests call hirc");
		free(path);
		return false;
	}
	buf_puts(&c->hirc_path, path);
	free(path);
	c->options.hirc = c->hirc_path.at;
	return true;
}

static bool filter(struct test_command *c)
{
	regex_t wanted = {0};
	char text[128];
	uint32_t kept = 0;
	if (!c->filter)
		return true;
	int error = regcomp(&wanted, c->filter, REG_EXTENDED | REG_NOSUB);
	if (error) {
		regerror(error, &wanted, text, sizeof text);
		diag_error(c->d, E_GOLDEN_NONE, DIAG_NOWHERE, "--filter='%s': %s", c->filter, text);
		return false;
	}
	for (uint32_t i = 0; i < c->paths.at.n; i++)
		if (regexec(&wanted, c->paths.at.at[i], 0, NULL, 0) == 0)
			c->paths.at.at[kept++] = c->paths.at.at[i];
		else
			free(c->paths.at.at[i]);
	c->paths.at.n = kept;
	regfree(&wanted);
	return true;
}

static bool find_tests(struct test_command *c, const struct command_line *line)
{
	struct stat is;
	bool ok = true;
	for (uint32_t i = 0; i < line->file.n; i++)
		ok = golden_find(c->d, line->file.at[i], &c->paths) && ok;
	if (!line->file.n)
		ok = golden_find(c->d, stat("tests", &is) == 0 && S_ISDIR(is.st_mode) ? "tests" : ".",
		                 &c->paths);
	if (!ok || !filter(c))
		return false;
	if (c->paths.at.n)
		return true;
	diag_error(c->d, E_GOLDEN_NONE, DIAG_NOWHERE,
	           c->filter ? "no test has a name that --filter matches" : "there are no tests");
	if (!c->filter)
		diag_note(c->d, DIAG_NOWHERE,
		          "a test is a file whose first line is `# RUN: COMMAND` or `// RUN: COMMAND`");
	return false;
}

/* ---- results */

/* Shows the number of tests done; 0 erases the line. */
static void count_up(const struct test_command *c, uint32_t done)
{
	if (!c->counts_up)
		return;
	fputs("\r\033[K", stderr);
	if (done)
		fprintf(stderr, "%u of %u tests, %u failed", done, c->paths.at.n, c->counts.n[GOLDEN_FAILED]);
	fflush(stderr);
}

static void report_test(void *to, uint32_t index, const struct golden_result *r)
{
	struct test_command *c = to;
	struct buf text = {0};
	const char *path = c->paths.at.at[index];
	golden_count(&c->counts, r);
	if (c->junit)
		golden_put_junit_case(&c->cases, path, r);
	if (c->json)
		golden_add_row(&c->results, path, r);
	else if (c->tap)
		golden_put_tap(&text, index + 1, path, r);
	else if (r->outcome != GOLDEN_PASSED || c->verbose || c->paths.at.n == 1)
		golden_put_result(&text, path, r, c->colored);
	if (text.n)
		count_up(c, 0);
	if (text.n && !c->lost)
		c->lost = !output_write(&text);
	count_up(c, index + 1);
	buf_free(&text);
}

static enum status finish_tests(struct test_command *c)
{
	struct buf text = {0};
	enum status status = STATUS_OK;
	if (c->json) {
		golden_put_json(&text, &c->results, &c->counts);
	} else {
		buf_puts(&text, c->tap ? "# " : "");
		golden_put_closing(&text, &c->counts);
	}
	if (!output_write(&text) || c->lost)
		status = STATUS_DIAGNOSTICS;
	text.n = 0;
	if (c->junit) {
		golden_put_junit(&text, &c->cases, &c->counts);
		if (!file_replace(c->junit, &(struct file_part){text.at, text.n}, 1)) {
			diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->junit,
			           strerror(errno));
			status = STATUS_DIAGNOSTICS;
		}
	}
	buf_free(&text);
	if (c->counts.n[GOLDEN_FAILED])
		status = STATUS_DIAGNOSTICS;
	else if (status == STATUS_OK && c->counts.n[GOLDEN_SKIPPED] == c->paths.at.n)
		status = (enum status)ALL_SKIPPED;
	return status;
}

/* Returns -j or the number of cores, but at most the number of tests. */
static uint32_t jobs(const struct test_command *c)
{
	cpu_set_t cores;
	int64_t n = c->jobs;
	if (!n)
		n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
	return n < c->paths.at.n ? (uint32_t)n : c->paths.at.n;
}

static enum status test(struct test_command *c, const struct command_line *line)
{
	if (c->tap && c->json) {
		diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "--tap and --json: one of them");
		return STATUS_USAGE;
	}
	if (!find_hirc(c) || !find_tests(c, line))
		return STATUS_USAGE;
	uint32_t n = c->paths.at.n;
	c->colored = color_wanted(color_setting_find(c->color), stdout);
	c->options.jobs = jobs(c);
	c->options.report = report_test;
	c->options.to = c;
	if (c->tap) {
		struct buf text = {0};
		buf_printf(&text, "TAP version 13\n1..%u\n", n);
		c->lost = !output_write(&text);
		buf_free(&text);
	}
	if (c->json)
		c->results = golden_table_open();
	c->counts_up = !c->tap && !c->json && n > 1 && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
	int signal = golden_run(&c->options, c->paths.at.at, n);
	count_up(c, 0);
	if (signal) {
		diag_error(c->d, E_TEST_ENDED, DIAG_NOWHERE, "ended by signal %d: %s", signal,
		           strsignal(signal));
		return (enum status)(BY_SIGNAL + signal);
	}
	return finish_tests(c);
}

static const struct option rows[] = {
    {.name = "jobs",
     .letter = 'j',
     .kind = OPTION_INT,
     .at = offsetof(struct test_command, jobs),
     .value = "N",
     .max = MOST_JOBS,
     .help = "tests at the same time; 0: as many as there are cores"},
    {.name = "update",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct test_command, options.update),
     .help = "write the output into the tests as the expected output"},
    {.name = "filter",
     .kind = OPTION_TEXT,
     .at = offsetof(struct test_command, filter),
     .value = "REGEX",
     .help = "run only tests whose path matches this POSIX extended regular expression"},
    {.name = "timeout",
     .kind = OPTION_INT,
     .at = offsetof(struct test_command, options.seconds),
     .value = "SECONDS",
     .min = 1,
     .max = MOST_SECONDS,
     .init.number = 60,
     .help = "limit of a test; then all its processes are killed"},
    {.name = "junit",
     .kind = OPTION_TEXT,
     .at = offsetof(struct test_command, junit),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write the results as JUnit XML, too"},
    {.name = "tap",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct test_command, tap),
     .help = "print the results as TAP 13"},
    JSON_OPTION(struct test_command, json),
    {.name = "verbose",
     .letter = 'v',
     .kind = OPTION_SWITCH,
     .at = offsetof(struct test_command, verbose),
     .help = "name tests that passed, too"},
    {.name = "hirc",
     .kind = OPTION_TEXT,
     .at = offsetof(struct test_command, hirc),
     .value = "PATH",
     .help = "the program that tests call as hirc; default: this one"},
    {.name = "root",
     .kind = OPTION_TEXT,
     .at = offsetof(struct test_command, options.root),
     .value = "DIR",
     .help = "the folder %root; default: the nearest folder above the test that has a .git, else its "
             "own"},
    {.name = "feature",
     .kind = OPTION_CALL,
     .call = add_feature,
     .value = "NAME[=COMMAND]",
     .help = "have the feature of `# REQUIRES: NAME`; with a command, if that ends with exit code 0"},
    COLOR_OPTION(struct test_command, color),
};

int cmd_test(int argc, char **argv)
{
	struct test_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] [DIR|FILE…]",
	    .about =
	        "Runs golden tests: files that begin with `# RUN: COMMAND` and end with the output after\n"
	        "`# EXPECT:`. Runs all tests of a folder and the folders in it; default: tests/, or else "
	        "the\n"
	        "current folder.\nExit code: 0; 1 a test failed; 2 wrong command line, or no tests; 77 all "
	        "were "
	        "skipped.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		c.d = diag_new(stderr, DIAG_TEXT, color_setting_find(c.color));
		status = test(&c, &line);
		diag_finish(c.d);
		diag_free(c.d);
	}
	golden_features_free(&c.options.feature);
	golden_paths_free(&c.paths);
	if (c.json)
		table_close(&c.results);
	buf_free(&c.cases);
	buf_free(&c.hirc_path);
	options_free(&line);
	return status;
}
