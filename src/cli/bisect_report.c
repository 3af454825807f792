/* bisect_report: prints the pass or change that was found, and the program before and after it.
 *
 * It reads both programs from the files of --dump-dir, and compares them as `hirc diff` does. */
#include "base/file.h"
#include "base/source.h"
#include "base/source_read.h"
#include "cli/bisect.h"
#include "cli/compile.h"
#include "cli/diff_report.h"
#include "cli/output.h"
#include "ir/print.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum side { BEFORE, AFTER };
static const char *const file_name[] = {[BEFORE] = "good.hir", [AFTER] = "bad.hir"};

/* ---- the program on either side */

/* Returns true if a file is `02-PASS.hir` of this pass, in either surface. */
static bool is_dump_of(const char *file, const char *pass, size_t n)
{
	const char *dash = strchr(file, '-');
	return dash && !strncmp(dash + 1, pass, n) && dash[1 + n] == '.';
}

/* Appends the dump after a pass, and removes the folder with all its dumps. False: there is no dump. */
static bool take_dump(const char *folder, const char *pass, size_t pass_n, struct buf *text)
{
	struct dirent **entry;
	int n = scandir(folder, &entry, NULL, alphasort);
	bool found = false;
	for (int i = 0; i < n; i++) {
		struct buf path = {0};
		struct source *s;
		buf_printf(&path, "%s/%s", folder, entry[i]->d_name);
		struct diag *nowhere = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
		if (*entry[i]->d_name != '.') {
			if (is_dump_of(entry[i]->d_name, pass, pass_n) &&
			    source_read(nowhere, path.at, &s) == STATUS_OK) {
				buf_putn(text, s->text, s->size);
				source_free(s);
				found = true;
			}
			unlink(path.at);
		}
		diag_free(nowhere);
		buf_free(&path);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	rmdir(folder);
	return found;
}

/* Reads the program of a text in the concise surface; NULL: it cannot be read. */
static struct module *read_program(const char *name, const struct buf *text)
{
	struct compile_options o;
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	enum status status;
	compile_options_init(&o);
	o.defaults_are_open = true;
	struct source *s = source_from_text(name, text->at, (uint32_t)text->n);
	struct module *m = compile_source(nowhere, s, &o, false, &status);
	compile_options_free(&o);
	diag_free(nowhere);
	return m;
}

/* Runs the command once more, to get the program before or after the step. */
static struct module *make_program(struct bisect *b, const struct bisect_step *s, enum side side)
{
	struct buf options = {0}, folder = {0}, text = {0}, concise = {0};
	struct attempt a;
	struct module *m = NULL;
	uint32_t n = side == BEFORE ? s->good : s->bad;
	const char *pass = s->of_changes ? b->change.at[s->bad - 1] : n ? b->pass.at[n - 1] : "parse";
	size_t pass_n = strcspn(pass, ":");
	buf_printf(&folder, "%s/passes", b->attempt.folder.at);
	bisect_put_options(b, s->of_changes, n, &options);
	if (s->of_changes) /* later passes would hide the change */
		buf_printf(&options, " --stop-after=%.*s", (int)pass_n, pass);
	buf_puts(&options, " --dump-dir=");
	options_put_word(folder.at, &options);
	bool ran = attempt_run(&b->attempt, &b->text, options.at, &a);
	if (take_dump(folder.at, pass, pass_n, &text) && ran)
		m = read_program("dump", &text);
	if (m) {
		ir_print_hir(m, &concise);
		compile_free(m);
		m = read_program(file_name[side], &concise);
	}
	attempt_free(&a);
	buf_free(&options);
	buf_free(&folder);
	buf_free(&text);
	buf_free(&concise);
	return m;
}

static bool write_program(struct bisect *b, const struct module *m)
{
	struct buf path = {0};
	buf_printf(&path, "%s/%s", b->folder, m->source->name);
	if (mkdir(b->folder, 0777) && errno != EEXIST)
		errno = errno ? errno : EIO;
	bool ok = file_replace(path.at, &(struct file_part){m->source->text, m->source->size}, 1);
	if (!ok)
		diag_error(b->attempt.d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", path.at,
		           strerror(errno));
	buf_free(&path);
	return ok;
}

static bool show_difference(struct bisect *b, const struct bisect_step *s)
{
	struct module *m[] = {make_program(b, s, BEFORE), make_program(b, s, AFTER)};
	struct difference x;
	bool ok = true;
	if (!m[BEFORE] || !m[AFTER]) {
		printf("there is no program %s it\n", m[BEFORE] ? "after" : "before");
	} else {
		if (!modules_same(m[BEFORE], m[AFTER], &x))
			diff_report(color_setting_find(b->color), m[BEFORE], m[AFTER], &x);
		difference_free(&x);
	}
	for (int side = BEFORE; side <= AFTER; side++) {
		if (m[side] && b->folder)
			ok = write_program(b, m[side]) && ok;
		compile_free(m[side]);
	}
	return ok;
}

/* ---- the words */

/* Puts `pass 3 of 8, lower-collectives` or `change 2 of 5, allocate: …`, one on each line. */
static void put_candidates(const struct bisect *b, const struct bisect_step *s, struct buf *out)
{
	uint32_t n = s->of_changes ? b->change.n : b->pass.n;
	if (s->bad - s->good > 1)
		buf_puts(out, "one of these; the command gives no verdict between them:\n");
	for (uint32_t k = s->good; k < s->bad; k++)
		buf_printf(out, "%s %u of %u: %s\n", s->of_changes ? "change" : "pass", k + 1, n,
		           s->of_changes ? b->change.at[k] : b->pass.at[k]);
}

/* Puts the first line of the whole program's error. */
static void put_error(const struct bisect *b, struct buf *out)
{
	for (int i = 1; i >= 0; i--) {
		const char *text = b->fault.whole.out[i].at, *error = text ? strstr(text, "error: ") : NULL;
		if (!error)
			continue;
		while (error > text && error[-1] != '\n')
			error--;
		buf_putn(out, error, strcspn(error, "\n"));
		buf_putc(out, '\n');
		return;
	}
}

int bisect_report(struct bisect *b, const struct bisect_step *s)
{
	struct buf text = {0}, command = {0}, end = {0};
	attempt_put_command(&b->attempt, &command);
	attempt_put_end(&b->attempt, &b->fault.whole, &end);
	put_candidates(b, s, &text);
	if (b->fault.match)
		buf_printf(&text, "with it `%s` prints '%s':\n", command.at, b->fault.match);
	else
		buf_printf(&text, "with it `%s` %s:\n", command.at, end.at);
	put_error(b, &text);
	bool ok = output_write(&text) && show_difference(b, s);
	buf_free(&text);
	buf_free(&command);
	buf_free(&end);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}
