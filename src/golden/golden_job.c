/* golden_job: see golden_job.h. */
#include "golden/golden_job.h"
#include "base/arena.h"
#include "base/file.h"
#include "golden/golden_compare.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CRASH = 70 }; /* --update does not write this exit code, or a higher one, into a test */
enum { MOST_ROUNDS = 3 };
#define GRACE_NS ((int64_t)2000000000) /* from SIGTERM to SIGKILL */
#define SECOND_NS ((int64_t)1000000000)

int64_t golden_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* Reads a test; messages to d go into the result. */
static bool read_test(struct golden_job *j, const char *path)
{
	char *text = NULL;
	size_t n = 0;
	FILE *memory = open_memstream(&text, &n);
	struct diag *d = memory ? diag_new(memory, DIAG_TEXT, 0) : NULL;
	bool ok = d && golden_test_read(d, path, &j->test);
	if (ok && !golden_place_name(&j->place, path, j->options->root)) {
		diag_error(d, E_FILE_UNREADABLE, DIAG_NOWHERE, "cannot find '%s': %s",
		           j->options->root ? j->options->root : path, strerror(errno));
		ok = false;
	}
	if (ok && !golden_features_met((struct golden_features *)&j->options->feature, &j->test,
	                               j->place.shared, &j->result.words)) {
		j->result.outcome = GOLDEN_SKIPPED;
		ok = false;
	} else if (ok) {
		ok = golden_place_make(&j->place, d, &j->test, j->options->hirc);
	}
	if (d)
		diag_finish(d);
	diag_free(d);
	if (memory)
		fclose(memory);
	if (text)
		buf_putn(&j->result.words, text, n);
	free(text);
	return ok;
}

static struct golden_line command_of(const struct golden_job *j)
{
	return j->test.run.at[j->run];
}

static bool start_command(struct golden_job *j)
{
	struct buf command = {0};
	char **environment = j->options->feature.environment, *path = environment[0];
	golden_place_put_command(&j->place, command_of(j), &command);
	environment[0] = j->place.path.at;
	j->child = (struct golden_child){.most = GOLDEN_MOST_BYTES - j->text.n};
	bool ok = golden_child_start(&j->child, command.at, j->place.work.at, environment);
	environment[0] = path;
	if (!ok)
		buf_printf(&j->result.words, "cannot start sh: %s\n", strerror(errno));
	buf_free(&command);
	return ok;
}

/* Reads the test and starts its first command. */
static bool start_round(struct golden_job *j, const char *path)
{
	j->result.outcome = GOLDEN_FAILED;
	j->end = golden_now() + j->options->seconds * SECOND_NS;
	return read_test(j, path) && start_command(j);
}

bool golden_job_start(struct golden_job *j, struct golden_options *o, const char *path, uint32_t index)
{
	*j = (struct golden_job){
	    .options = o, .index = index, .start = golden_now(), .child = {.pipe = {-1, -1}}};
	bool runs = start_round(j, path);
	j->result.ns = golden_now() - j->start;
	return runs;
}

/* Appends the error of the command itself. Returns false if there is none. */
static bool explain_failure(struct golden_job *j, int code)
{
	struct golden_line run = command_of(j);
	struct buf *words = &j->result.words;
	if (j->late)
		buf_printf(words, "no end after %lld s, the limit of --timeout: %.*s\n",
		           (long long)j->options->seconds, (int)run.n, run.at);
	else if (j->child.flooded)
		buf_printf(words, "more than %d MiB of output: %.*s\n", GOLDEN_MOST_BYTES >> 20, (int)run.n,
		           run.at);
	else if (code && j->run + 1 < j->test.run.n)
		buf_printf(words, "exit code %d of `%.*s`, which is not the last command\n", code, (int)run.n,
		           run.at);
	return words->n > 0;
}

static uint32_t count_lines(const struct buf *text)
{
	uint32_t n = 0;
	for (size_t i = 0; i < text->n; i++)
		n += text->at[i] == '\n';
	return n;
}

/* Writes the output into the test. Messages of the program may name lines of this file, so a file of another
 * length is run once more. */
static void update(struct golden_job *j, const struct golden_lines *output, const struct golden_edits *e,
                   int code)
{
	struct buf text = {0};
	const struct source *s = j->test.source;
	golden_put_updated(&j->test, output, e, code, &text);
	bool same = text.n == s->size && !memcmp(text.at, s->text, text.n);
	j->result.outcome = same && !j->rounds ? GOLDEN_PASSED : GOLDEN_UPDATED;
	if (!same && j->rounds == MOST_ROUNDS) {
		j->result.outcome = GOLDEN_FAILED;
		buf_printf(
		    &j->result.words,
		    "the output was another one in each run: write `{{...}}` for the parts that change\n");
	} else if (!same && !file_replace(j->place.test, &(struct file_part){text.at, text.n}, 1)) {
		j->result.outcome = GOLDEN_FAILED;
		buf_printf(&j->result.words, "cannot write '%s': %s\n", s->name, strerror(errno));
	} else if (!same) {
		j->rounds++;
		j->again = count_lines(&text) != j->test.line.n;
	}
	buf_free(&text);
}

/* Sets the result of a test whose last command ended with this code. */
static void judge_test(struct golden_job *j, int code)
{
	struct buf text = {0};
	struct golden_lines output = {0};
	struct golden_edits edits = {0};
	bool broken = explain_failure(j, code);
	golden_place_put_output(&j->place, &j->text, &text);
	golden_lines_cut(text.at, text.n, &output);
	golden_compare(&j->test, &output, &edits);
	if (j->options->update && (broken || code >= CRASH)) {
		golden_put_diff(&j->test, &output, &edits, &j->result.diff);
		if (!broken)
			buf_printf(&j->result.words,
			           "exit code %d: a crash is never written as the expected output\n", code);
	} else if (j->options->update) {
		update(j, &output, &edits, code);
	} else {
		golden_put_diff(&j->test, &output, &edits, &j->result.diff);
		if (!broken && code != j->test.exit_code)
			buf_printf(&j->result.words, "exit code %d, expected %d\n", code, j->test.exit_code);
		if (edits.note.n)
			buf_puts(&j->result.words, edits.note.at);
		j->result.outcome = j->result.diff.n || j->result.words.n ? GOLDEN_FAILED : GOLDEN_PASSED;
	}
	golden_edits_free(&edits);
	vec_free(&output.at);
	buf_free(&text);
}

static bool start_again(struct golden_job *j)
{
	char *path = mem_strdup(j->test.source->name);
	golden_job_free(j);
	j->child = (struct golden_child){.pipe = {-1, -1}};
	j->text = (struct buf){0};
	j->run = 0;
	j->stage = GOLDEN_RUNNING;
	j->late = false;
	bool runs = start_round(j, path);
	free(path);
	return runs;
}

bool golden_job_next(struct golden_job *j, int code)
{
	for (int i = 0; i < 2; i++)
		golden_put_text(&j->text, j->child.text[i].at, j->child.text[i].n);
	bool last = j->run + 1 == j->test.run.n || code || j->late || j->child.flooded;
	j->again = false;
	if (last)
		judge_test(j, code);
	golden_child_free(&j->child);
	bool runs = false;
	if (!last) {
		j->run++;
		runs = start_command(j);
	} else if (j->again) {
		runs = start_again(j);
	}
	j->result.ns = golden_now() - j->start;
	return runs;
}

void golden_job_hurry(struct golden_job *j, int64_t now)
{
	bool flooded = j->child.flooded && j->stage == GOLDEN_RUNNING;
	if (!flooded && now < j->end)
		return;
	j->late = j->late || !flooded;
	golden_child_signal(&j->child, j->stage == GOLDEN_RUNNING ? SIGTERM : SIGKILL);
	j->stage = j->stage == GOLDEN_RUNNING ? GOLDEN_ASKED : GOLDEN_KILLED;
	j->end = now + GRACE_NS;
}

void golden_job_free(struct golden_job *j)
{
	golden_child_free(&j->child);
	golden_place_free(&j->place);
	golden_test_free(&j->test);
	buf_free(&j->text);
}
