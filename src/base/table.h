/* table: rows under columns, printed as aligned text, CSV or JSON.
 *
 *     static const struct table_column column[] = {{.name = "pass", .left = true},
 *                                                  {.name = "ms", .width = 10, .decimals = 3}};
 *     struct table t = table_open(TABLE_TEXT, column, 2);
 *     table_add_text(&t, "allocate");         pass             ms
 *     table_add_number(&t, 0.25);             allocate      0.250
 *     table_put(&t, out);
 *     table_close(&t);                        {"pass": "allocate", "ms": 0.25}
 *
 * A row gets a cell of every column, in order, also of columns that the format leaves out. CSV is that of
 * RFC 4180 with plain line ends. JSON is an array of objects; every object has all members, and an absent
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
	TABLE_WHOLE = -1, /* of struct table_column.exact: no digits behind the point */
};

struct table_column {
	const char *name;   /* in CSV and JSON */
	const char *title;  /* in text; NULL: the name. Behind a line end: its unit, in the next line */
	const char *group;  /* JSON: the object that holds it and its neighbours of this group; CSV: a prefix.
	                       A group without a cell is null */
	const char *before; /* text: between it and the column before; NULL: the gap of the table */
	const char *suffix; /* text: behind a number */
	const char *none;   /* text: an absent cell; NULL: nothing */
	unsigned width;     /* text: the least width, in characters */
	unsigned most;      /* text: a longer cell does not widen the column; 0: any does */
	unsigned cut;       /* text: the width to which it may be cut so that lines fit; 0: never cut */
	int decimals;       /* digits of a number in text */
	int exact;          /* digits of a number in CSV and JSON; 0: up to six significant ones */
	uint8_t in;         /* TABLE_IN_…: the formats that have it; 0: all */
	bool left;          /* text: aligned to the left */
	bool sign;          /* text: a number has its sign */
};

struct table_cell {
	const char *text; /* as the format has it, without quotes; NULL: absent */
	bool quoted;      /* JSON: a string */
};

struct table_note {
	uint32_t row; /* it stands below this many rows */
	const char *text;
};

struct table {
	enum table_format format;
	const struct table_column *column; /* not owned */
	unsigned n;                        /* columns */
	unsigned gap;                      /* text: blanks between columns; 2 at first */
	unsigned line;                     /* text: the longest line; 0: any */
	unsigned indent;                   /* JSON: blanks before a row */
	bool in_line;                      /* JSON: all rows in one line */
	const char *comment; /* text: before titles, in the width of the first column; NULL: none */
	uint32_t printed;    /* rows that table_put_rows has printed */
	struct arena *arena;
	VEC(struct table_cell) cell; /* row by row */
	VEC(struct table_note) note;
};

struct table table_open(enum table_format format, const struct table_column *column, unsigned n);
void table_close(struct table *t);

/* Each adds a cell. Texts are copied. */
void table_add_text(struct table *t, const char *text); /* NULL: absent */
void table_add_int(struct table *t, int64_t i);
void table_add_number(struct table *t, double x);
void table_add_bool(struct table *t, bool is);
void table_add_json(struct table *t, const struct buf *value); /* of a column that is in JSON alone */
void table_add_none(struct table *t);
/* Adds a line of text below the row; CSV and JSON have none. */
void table_add_note(struct table *t, const char *text);
uint32_t table_rows(const struct table *t); /* that are not printed yet */

/* Prints titles and rows; columns are as wide as their cells. JSON: the whole array. */
void table_put(struct table *t, struct buf *out);
/* For rows that come one by one: prints the titles, later the rows so far, in columns of the widths that are
 * given. JSON: the caller prints the brackets. */
void table_put_titles(const struct table *t, struct buf *out);
void table_put_rows(struct table *t, struct buf *out);

/* Puts the first characters of a text, the last one `…` if there are more than width. */
void table_put_cut(const char *text, unsigned width, struct buf *out);

#endif
