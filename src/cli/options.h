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
 * A new option is one row, and the field that it sets. Rows that several commands share are macros
 * (options_shared.h). A row replaces rows of the same name or letter in later tables.
 *
 * Options are `--name=value` or `--name value`, switches `--name` and `--no-name`, letters `-o FILE`
 * and `-oFILE`; `--` ends the options. The environment variable HIRC_FLAGS is read first, so that the command
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
	OPTION_MAYBE,  /* const char *: --name means --name=<otherwise>; a value needs the `=` */
	OPTION_INT,    /* int64_t, min … max */
	OPTION_SIZE,   /* int64_t, 8K 32M 8G, min … max */
	OPTION_CALL,   /* call(field, text); may be given several times; false after reporting */
};

/* How the file that a value names is used; in NAME=FILE, the part after the `=` names the file. */
enum option_file {
	FILE_NONE, /* the value names no file */
	FILE_READ,
	FILE_WRITTEN, /* an error if the file is also read, or another option writes it */
};

struct option {
	const char *name;  /* without dashes; NULL: only a letter */
	char letter;       /* -o; 0: none */
	const char *alias; /* a name in other tools, with dashes; not listed; NULL: none */
	enum option_kind kind;
	size_t at; /* offset of the field in the table's values; its type depends on kind */
	bool (*call)(void *field, const char *text);
	union {
		bool on;          /* SWITCH */
		const char *text; /* TEXT, MAYBE */
		int64_t number;   /* INT, SIZE */
	} init;                   /* the default; not for CALL */
	bool on_in_debug;         /* SWITCH: on by default in debug builds */
	const char *value;        /* in --help: FILE, N, …; `a|b|c`: must be one of these words */
	const char *words;        /* `a|b|c`: completions in shells, not checked; NULL: the words of value */
	enum option_file file;    /* TEXT, MAYBE, CALL */
	bool several;             /* TEXT: allows several words, with commas between them */
	const char *otherwise;    /* MAYBE: the value if none is given */
	int64_t min, max;         /* INT, SIZE; both 0: no limits */
	const char *help;
};

struct option_table {
	const char *title; /* heading in --help */
	const struct option *row;
	unsigned n;
	void *values; /* the struct with the rows' fields */
};
#define OPTION_TABLE(of_title, rows, to)                                                                     \
	(struct option_table)                                                                                \
	{                                                                                                    \
		.title = (of_title), .row = (rows), .n = sizeof(rows) / sizeof *(rows), .values = (to)       \
	}

/* An option of another program, and how to say it here. The last one of a list has no names. */
struct other_option {
	const char *there; /* `-g` */
	const char *here;  /* text of a note */
};

enum { OPTION_MAX_TABLES = 6 };

struct command_line {
	const char *command; /* `compile` */
	const char *usage;   /* `[OPTION…] FILE…` */
	const char *about;   /* one paragraph */
	struct option_table table[OPTION_MAX_TABLES];
	unsigned table_n;
	/* options that users of another program may give; NULL: none */
	const struct other_option *others;
	unsigned min_files, max_files;    /* positional arguments; max 0: no limit */
	bool has_ranks;                   /* a file may have ranks before its name, as in 0-3:FILE */
	const char *words;                /* `a|b|c`: shells also offer these as arguments; NULL: none */
	const char *suffixes;             /* of files that shells offer: `hir|graph`; "": all; NULL: hir */
	bool no_files;                    /* shells offer no files */
	VEC(const char *) file;           /* the positional arguments; out */
	VEC(const struct option *) given; /* options that were read, in order; out */
	VEC(const char *) given_text;     /* by given option: its value; for a switch "yes" or "no"; out */
	uint32_t of_environment;          /* the first of these came from HIRC_FLAGS: their number; out */
	char *environment;                /* copy of HIRC_FLAGS that values point into; owned */
};

/* If this is the first word, options_parse completes the command line instead of reading it (complete_line.h). */
#define OPTIONS_COMPLETE "--help=complete"

/* Sets the defaults, then the values of the command line. argv[0] is the command's name. False: --help or an
 * error was printed, and *status is the exit code. */
bool options_parse(struct command_line *c, int argc, char **argv, enum status *status);
/* Sets the defaults of a table, for values without a command line. */
void options_set_defaults(const struct option_table *t);
/* Returns the field that an option sets. */
void *options_field(const struct command_line *c, const struct option *o);
/* Returns the option of a word of n bytes, with its dashes: a name, a letter or an alias. NULL: none. */
const struct option *options_find(const struct command_line *c, const char *word, size_t n);
/* Returns the option of a name without dashes; NULL: none. */
const struct option *options_find_name(const struct command_line *c, const char *name, size_t n);
/* Returns true if a row of table t is replaced by one of an earlier table. */
bool options_hidden(const struct command_line *c, unsigned t, const struct option *o);
/* Puts the text of --help. */
void options_put_help(const struct command_line *c, struct buf *out);
/* Puts `--name` or `-o`. */
void option_put_name(const struct option *o, struct buf *out);
/* Puts the name of given option k; `--no-name` for a switch that was turned off. */
void options_put_given_name(const struct command_line *c, uint32_t k, struct buf *out);
/* Puts given option k as a shell reads it: ` -D 'x=a b'`, ` --no-remarks`. */
void options_put_given(const struct command_line *c, uint32_t k, struct buf *out);
/* Puts a word as a shell reads it, in quotes if it needs them. */
void options_put_word(const char *word, struct buf *out);
/* Returns true if an option with this name was given. */
bool options_given(const struct command_line *c, const char *name);
/* Returns true if a file of this name would replace a file that the command line reads, or that another
 * option writes; then appends that file in words, such as `'foo.hir', which is read`. */
bool options_replaces(const struct command_line *c, const char *path, struct buf *out);
/* Returns true if no option writes a file that the command or another option reads or writes; otherwise
 * appends the error. */
bool options_spare_files(const struct command_line *c, struct buf *out);
/* Returns true if the name of each file that an option writes fits the file's type, or has a suffix that hirc
 * does not know; otherwise appends the error. */
bool options_check_types(const struct command_line *c, struct buf *out);
/* Returns the suffix of a name if it belongs to a well-known type of file, such as "png"; else NULL. */
const char *options_file_type(const char *path);
/* Uses standard input for a missing file argument, if it is a pipe or a file. Returns true if it does.
 * options_parse calls this if a command wants at least one file. */
bool options_read_input(struct command_line *c);
/* Returns true if the option is a row of the table. */
bool option_table_has(const struct option_table *t, const struct option *o);
void options_free(struct command_line *c);

#endif
