/* table: rows and columns, printed as aligned text, CSV or JSON.
 *
 *     static const struct table_column column[] = {{.name = "pass", .left = true},
 *                                                  {.name = "ms", .width = 10, .decimals = 3}};
 *     struct table t = table_open(TABLE_TEXT, column, 2);
 *     table_add_text(&t, "allocate");         pass             ms
 *     table_add_number(&t, 0.25);             allocate      0.250
 *     table_put(&t, out);
 *     table_close(&t);                        {"pass": "allocate", "ms": 0.25}
 *
 * Each row gets a cell for every column, in order, also for columns that the format leaves out. CSV follows
 * RFC 4180, but lines end with \n. JSON is an array of objects; each object has all members, and an absent
 * cell is null. */
#ifndef HIRC_BASE_TABLE_H
#define HIRC_BASE_TABLE_H
#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"

enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_JSON };

enum {
	TABLE_IN_TEXT = 1 << TABLE_TEXT,
	TABLE_IN_CSV = 1 << TABLE_CSV,
	TABLE_IN_JSON = 1 << TABLE_JSON,
	TABLE_IN_DATA = TABLE_IN_CSV | TABLE_IN_JSON,
	TABLE_IN_NONE = 1 << 3,
	TABLE_MOST_COLUMNS = 40,
	TABLE_WHOLE = -1, /* a value of table_column.exact: no digits after the point */
};

struct table_column {
	const char *name;   /* in CSV and JSON */
	const char *title;  /* in text; NULL: the name. A second line, after \n, holds the unit */
	const char *group;  /* JSON: the object around neighbouring columns of this group; CSV: a prefix. A
	                       group without a cell is null */
	const char *before; /* text: put before the column; NULL: the gap of the table */
	const char *suffix; /* text: put after a number */
	const char *none;   /* text: put for an absent cell; NULL: nothing */
	unsigned width;     /* text: the smallest width, in characters */
	unsigned most;      /* text: cells wider than this do not widen the column; 0: all do */
	unsigned cut;       /* text: the width to which cells may be cut so that lines fit; 0: never cut */
	int decimals;       /* text: digits after the point */
	int exact;          /* CSV, JSON: digits after the point; 0: up to six significant digits */
	uint8_t in;         /* TABLE_IN_…: the formats that have this column; 0: all */
	bool left;          /* text: aligned to the left */
	bool sign;          /* text: numbers have a sign, also `+` */
};

struct table_cell {
	const char *text; /* as the format prints it, without quotes; NULL: absent */
	bool quoted;      /* JSON: a string */
};

struct table_note {
	uint32_t row; /* the note is printed below this many rows */
	const char *text;
};

struct table {
	enum table_format format;
	const struct table_column *column; /* not owned */
	unsigned n;                        /* columns */
	unsigned gap;                      /* text: blanks between columns; table_open sets 2 */
	unsigned line;                     /* text: the longest line, in characters; 0: no limit */
	unsigned indent;                   /* JSON: blanks before a row */
	bool in_line;                      /* JSON: all rows are on one line */
	const char *comment; /* text: put before the titles, within the first column; NULL: none */
	uint32_t printed;    /* rows that table_put_rows has printed */
	struct arena *arena;
	VEC(struct table_cell) cell; /* row by row */
	VEC(struct table_note) note;
};

struct table table_open(enum table_format format, const struct table_column *column, unsigned n);
void table_close(struct table *t);

/* Each adds one cell. Texts are copied. */
void table_add_text(struct table *t, const char *text); /* NULL: absent */
void table_add_int(struct table *t, int64_t i);
void table_add_number(struct table *t, double x);
void table_add_bool(struct table *t, bool is);
void table_add_json(struct table *t, const struct buf *value); /* for a column that only JSON has */
void table_add_none(struct table *t);
/* Adds a line of text below the row; CSV and JSON have none. */
void table_add_note(struct table *t, const char *text);
uint32_t table_rows(const struct table *t); /* rows not printed yet */

/* Prints titles and rows, with columns as wide as their cells. JSON: prints the whole array. */
void table_put(struct table *t, struct buf *out);
/* For rows that arrive one by one: print the titles, and later the rows since the last call, in columns of
 * their smallest width. JSON: the caller prints the brackets. */
void table_put_titles(const struct table *t, struct buf *out);
void table_put_rows(struct table *t, struct buf *out);

/* Puts at most `width` characters of a text; the last one is `…` if the text was cut. */
void table_put_cut(const char *text, unsigned width, struct buf *out);

#endif
