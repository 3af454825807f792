/* options: the command line of one command, read from tables.
 *
 *     static const struct option table[] = {
 *             {.name = "np", .kind = OPTION_INT, .to = &o.np, .value = "N", .help = "number of ranks"},
 *     };
 *
 * Options are `--name=value` or `--name value`, switches `--name` and `--no-name`, letters `-o FILE`
 * and `-oFILE`; `--` ends them. The environment variable HIRC_FLAGS is read first, so that the command
 * line overrides it. An unknown option is an error with a suggestion. --help shows each default as it
 * stands in the target before anything is read; --help=bash, zsh and fish, alone, print the tables as the
 * command's part of that shell's completions (completion.h). */
#ifndef HIRC_CLI_OPTIONS_H
#define HIRC_CLI_OPTIONS_H
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_SWITCH, /* bool *: --name, --no-name */
	OPTION_TEXT,   /* const char ** */
	OPTION_MAYBE,  /* const char **: --name is --name=<otherwise>; a value only after `=` */
	OPTION_INT,    /* int64_t *, min … max */
	OPTION_SIZE,   /* int64_t *, 8K 32M 8G, min … max */
	OPTION_CALL,   /* call(to, text), may be repeated; false: it reported the fault */
};

/* Uses of the file that a value names; of NAME=FILE the part behind the `=` names it. */
enum option_file {
	FILE_NONE, /* it names none */
	FILE_READ,
	FILE_WRITTEN, /* never one that is read, or that another option writes: an error */
};

struct option {
	const char *name; /* without dashes; NULL: only a letter */
	char letter;      /* -o; 0: none */
	enum option_kind kind;
	void *to; /* by kind */
	bool (*call)(void *to, const char *text);
	const char *value;     /* in --help: FILE, N, …; `a|b|c`: one of these words, checked */
	const char *words;     /* `a|b|c`: the words in shells, not checked; NULL: the words of value */
	enum option_file file; /* TEXT, MAYBE, CALL */
	bool several;          /* TEXT: several of these words, with commas between them */
	const char *otherwise; /* MAYBE: the value when none is written */
	int64_t min, max;      /* INT, SIZE; both 0: any */
	const char *help;
};

struct option_table {
	const char *title; /* in --help; NULL: `Options` */
	const struct option *at;
	unsigned n;
};

enum { OPTION_MAX_TABLES = 6 };

struct command_line {
	const char *command; /* `compile` */
	const char *usage;   /* `[OPTION…] FILE…` */
	const char *about;   /* one paragraph */
	struct option_table table[OPTION_MAX_TABLES];
	unsigned table_n;
	unsigned min_files, max_files;    /* positional arguments; max 0: any number */
	const char *words;                /* `a|b|c`: shells offer these as arguments, too; NULL: none */
	const char *suffixes;             /* of files that shells offer: `hir|graph`, "": any; NULL: hir */
	bool no_files;                    /* shells offer none */
	VEC(const char *) file;           /* the positional arguments; out */
	VEC(const struct option *) given; /* options that were read, in their order; out */
	VEC(const char *) given_text;     /* by option: its value; of a switch "yes" or "no"; out */
	uint32_t of_environment; /* how many of these were read from HIRC_FLAGS, which are first; out */
	char *environment;       /* copy of HIRC_FLAGS that values point into; owned */
};

/* argv[0] is the command's name. False: *status is the exit code, --help or the error was printed. */
bool options_parse(struct command_line *c, int argc, char **argv, enum status *status);
/* `--name`, `--no-name` of a switch that is off, or `-o`. */
void option_spelling(const struct option *o, struct buf *out);
/* Number k of the options that were read, as a shell reads it: ` -D 'x=a b'`, ` --no-remarks`. */
void options_put_given(const struct command_line *c, uint32_t k, struct buf *out);
/* A word as a shell reads it: in quotes where it needs them. */
void options_put_word(const char *word, struct buf *out);
/* Returns true if an option of this name was read. */
bool options_given(const struct command_line *c, const char *name);
/* Returns true if a file of this name would take the place of one that the command line reads, or another
 * option writes; appends that file in words, such as `'foo.hir', which is read`. */
bool options_replaces(const struct command_line *c, const char *path, struct buf *out);
/* Returns true if no option writes a file that another, or the command itself, reads or writes; appends the
 * fault where one does. */
bool options_spare_files(const struct command_line *c, struct buf *out);
bool option_table_has(const struct option_table *t, const struct option *o);
void options_free(struct command_line *c);

#endif
