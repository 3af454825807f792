/* features: see features.h. */
#include "golden/features.h"
#include "base/program.h"
#include "golden/child.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SECONDS = 60, MOST_WORDS = 64 << 10 };

void golden_feature_state(struct golden_features *f, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t n = equals ? (size_t)(equals - text) : strlen(text);
	vec_push(&f->stated, (struct golden_feature){text, n, equals ? equals + 1 : NULL, equals ? -1 : 1});
}

static bool is_folder(const char *path)
{
	struct stat is;
	return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

static bool has_program(const char *name)
{
	struct buf path = {0};
	bool found = program_find(name, &path);
	buf_free(&path);
	return found;
}

/* Reads the words of the line `features:`; none if the program prints no such line. */
static void ask_program(struct golden_features *f)
{
	struct golden_child c = {.most = MOST_WORDS};
	struct buf command = {0};
	buf_putc(&f->built, ' ');
	buf_puts(&command, "exec '");
	for (const char *at = f->hirc; *at; at++)
		if (*at == '\'')
			buf_puts(&command, "'\\''"); /* ends the quote, escapes a quote, begins the next
			                                quote */
		else
			buf_putc(&command, *at);
	buf_puts(&command, "' --version");
	if (golden_child_start(&c, command.at, ".", f->environment) && golden_child_wait(&c, SECONDS) == 0) {
		const char *line = c.text[0].at ? strstr(c.text[0].at, "features:") : NULL;
		size_t n = line ? strcspn(line, "\n") : 0;
		if (n) {
			buf_putn(&f->built, line + 9, n - 9);
			buf_putc(&f->built, ' ');
		}
	}
	golden_child_free(&c);
	buf_free(&command);
}

static bool is_stated(struct golden_features *f, struct golden_feature *s)
{
	if (s->there < 0) {
		struct golden_child c = {.most = MOST_WORDS};
		s->there = golden_child_start(&c, s->command, ".", f->environment) &&
		           golden_child_wait(&c, SECONDS) == 0;
		golden_child_free(&c);
	}
	return s->there > 0;
}

/* Returns true if a feature is available; otherwise appends the reason. */
static bool is_there(struct golden_features *f, const char *word, const char *shared, struct buf *why)
{
	for (uint32_t i = f->stated.n; i-- > 0;) {
		struct golden_feature *s = &f->stated.at[i];
		if (s->n != strlen(word) || memcmp(s->name, word, s->n))
			continue;
		if (!is_stated(f, s))
			buf_printf(why, "not so says `%s`", s->command);
		return s->there > 0;
	}
	if (!strcmp(word, "shared")) {
		if (!is_folder(shared))
			buf_printf(why, "no folder %s", shared);
		return !why->n;
	}
	if (!f->built.n)
		ask_program(f);
	struct buf blanks = {0};
	buf_printf(&blanks, " %s ", word);
	if (!strstr(f->built.at, blanks.at))
		buf_puts(why, "neither hirc nor --feature has it");
	else if (!strcmp(word, "mpi") && !has_program("mpirun"))
		buf_puts(why, "no mpirun");
	buf_free(&blanks);
	return !why->n;
}

bool golden_features_met(struct golden_features *f, const struct golden_test *t, const char *shared,
                         struct buf *why)
{
	for (uint32_t i = 0; i < t->needed.n; i++) {
		struct buf word = {0}, reason = {0};
		buf_putn(&word, t->needed.at[i].at, t->needed.at[i].n);
		bool without = word.at[0] == '!';
		bool there = is_there(f, word.at + without, shared, &reason);
		if (there == without)
			buf_printf(why, "needs %s: %s\n", word.at, without ? "it is there" : reason.at);
		buf_free(&word);
		buf_free(&reason);
		if (there == without)
			return false;
	}
	return true;
}

void golden_features_free(struct golden_features *f)
{
	vec_free(&f->stated);
	buf_free(&f->built);
}
