/* options: the command line of one command, read from tables of rows.
 *
 *     struct example { int64_t count; };
 *     static const struct option rows[] = {
 *             {.name = "count", .kind = OPTION_INT, .at = offsetof(struct example, count), .value = "N",
 *              .init.number = 4, .help = "number of examples"},
 *     };
 *     struct example e;
 *     struct command_line line = {.table = {OPTION_TABLE("Options", rows, &e)}, .table_n = 1, …};
 *     options_parse(&line, argc, argv, &status)        e.count is 4, or the value that was given
 *
 * A new option is one row, and the field that it sets. Rows that several commands have are macros
 * (options_shared.h). A row takes the place of rows of the same name or letter in later tables.
 *
 * Options are `--name=value` or `--name value`, switches `--name` and `--no-name`, letters `-o FILE`
 * and `-oFILE`; `--` ends them. The environment variable HIRC_FLAGS is read first, so that the command
 * line overrides it. An unknown option is an error with a suggestion. */
#ifndef HIRC_CLI_OPTIONS_H
#define HIRC_CLI_OPTIONS_H
#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_SWITCH, /* bool: --name, --no-name */
	OPTION_TEXT,   /* const char * */
	OPTION_MAYBE,  /* const char *: --name is --name=<otherwise>; a value only after `=` */
	OPTION_INT,    /* int64_t, min … max */
	OPTION_SIZE,   /* int64_t, 8K 32M 8G, min … max */
	OPTION_CALL,   /* call(field, text), may be repeated; false: it reported the fault */
};

/* Uses of the file that a value names; of NAME=FILE the part behind the `=` names it. */
enum option_file {
	FILE_NONE, /* it names none */
	FILE_READ,
	FILE_WRITTEN, /* never one that is read, or that another option writes: an error */
};

struct option {
	const char *name;  /* without dashes; NULL: only a letter */
	char letter;       /* -o; 0: none */
	const char *alias; /* a spelling of other tools, with dashes, in no list; NULL: none */
	enum option_kind kind;
	size_t at; /* offset of the field in the values of the table, by kind */
	bool (*call)(void *field, const char *text);
	union {
		bool on;          /* SWITCH */
		const char *text; /* TEXT, MAYBE */
		int64_t number;   /* INT, SIZE */
	} init;                   /* the default; CALL: none */
	bool on_in_debug;         /* SWITCH: on by default in debug builds */
	const char *value;        /* in --help: FILE, N, …; `a|b|c`: one of these words, checked */
	const char *words;        /* `a|b|c`: the words in shells, not checked; NULL: the words of value */
	enum option_file file;    /* TEXT, MAYBE, CALL */
	bool several;             /* TEXT: several of these words, with commas between them */
	const char *otherwise;    /* MAYBE: the value when none is written */
	int64_t min, max;         /* INT, SIZE; both 0: any */
	const char *help;
};

struct option_table {
	const char *title; /* in --help */
	const struct option *row;
	unsigned n;
	void *values; /* the struct that the rows' fields are in */
};
#define OPTION_TABLE(of_title, rows, to)                                                                     \
	(struct option_table)                                                                                \
	{                                                                                                    \
		.title = (of_title), .row = (rows), .n = sizeof(rows) / sizeof *(rows), .values = (to)       \
	}

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

/* The first word of a command line that options_parse completes instead of reading it (complete_line.h). */
#define OPTIONS_COMPLETE "--help=complete"

/* Writes the defaults, then the values that were given. argv[0] is the command's name. False: *status is the
 * exit code, --help or the error was printed. */
bool options_parse(struct command_line *c, int argc, char **argv, enum status *status);
/* Writes the defaults of a table: for values that no command line is read into. */
void options_set_defaults(const struct option_table *t);
/* Returns the field that an option of the command line sets. */
void *options_field(const struct command_line *c, const struct option *o);
/* Returns the option of a word with its dashes, n bytes of it: a name, a letter or an alias; NULL: none. */
const struct option *options_find(const struct command_line *c, const char *word, size_t n);
/* Likewise of a name without dashes. */
const struct option *options_find_name(const struct command_line *c, const char *name, size_t n);
/* Returns true if a row of table t is replaced by one of an earlier table. */
bool options_hidden(const struct command_line *c, unsigned t, const struct option *o);
/* Puts the text of --help. */
void options_put_help(const struct command_line *c, struct buf *out);
/* Puts `--name` or `-o`. */
void option_put_name(const struct option *o, struct buf *out);
/* Puts the name of number k of the options that were read; of a switch that was switched off `--no-name`. */
void options_put_given_name(const struct command_line *c, uint32_t k, struct buf *out);
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
/* Returns true if each file that an option writes is named as one of its type, or as one of no type that hirc
 * knows; appends the fault where one is not. */
bool options_check_types(const struct command_line *c, struct buf *out);
/* Returns the suffix of a name if it is that of a well-known type of file, such as "png"; else NULL. */
const char *options_file_type(const char *path);
/* Takes standard input for the missing file if a pipe or a file is there. Returns true if it does. Called by
 * options_parse where at least one file is wanted. */
bool options_read_input(struct command_line *c);
/* Returns true if the option is a row of the table. */
bool option_table_has(const struct option_table *t, const struct option *o);
void options_free(struct command_line *c);

#endif
