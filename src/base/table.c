/* table: see table.h. A cell is stored as its format prints it, so that printing only aligns and quotes. */
#include "base/table.h"
#include "base/json_put.h"
#include <assert.h>
#include <math.h>

struct table table_open(enum table_format format, const struct table_column *column, unsigned n)
{
	assert(n && n <= TABLE_MOST_COLUMNS);
	return (struct table){.format = format, .column = column, .n = n, .gap = 2, .arena = arena_new()};
}

void table_close(struct table *t)
{
	vec_free(&t->cell);
	vec_free(&t->note);
	arena_free(t->arena);
	*t = (struct table){0};
}

/* ---- cells */

static const struct table_column *next_column(const struct table *t)
{
	return &t->column[t->cell.n % t->n];
}

static void add_cell(struct table *t, const char *text, bool quoted)
{
	vec_push(&t->cell, ((struct table_cell){text, quoted}));
}

void table_add_none(struct table *t)
{
	add_cell(t, NULL, false);
}

void table_add_text(struct table *t, const char *text)
{
	add_cell(t, text ? arena_strndup(t->arena, text, strlen(text)) : NULL, true);
}

/* Returns the suffix of the next column; "" unless the format is text. */
static const char *suffix_of(const struct table *t)
{
	const char *suffix = next_column(t)->suffix;
	return t->format == TABLE_TEXT && suffix ? suffix : "";
}

void table_add_int(struct table *t, int64_t i)
{
	char digits[STR_INT];
	size_t n = (size_t)(str_put_int(digits, i) - digits);
	const char *suffix = suffix_of(t);
	char *text = arena_alloc(t->arena, n + strlen(suffix) + 1);
	memcpy(text, digits, n);
	strcpy(text + n, suffix);
	add_cell(t, text, false);
}

void table_add_number(struct table *t, double x)
{
	const struct table_column *c = next_column(t);
	const char *text;
	if (t->format != TABLE_TEXT && !isfinite(x)) /* JSON has no infinity and no NaN */
		text = NULL;
	else if (t->format == TABLE_TEXT)
		text = arena_printf(t->arena, c->sign ? "%+.*f%s" : "%.*f%s", c->decimals, x, suffix_of(t));
	else if (c->exact)
		text = arena_printf(t->arena, "%.*f", c->exact == TABLE_WHOLE ? 0 : c->exact, x);
	else
		text = arena_printf(t->arena, "%.6g", x);
	add_cell(t, text, false);
}

void table_add_bool(struct table *t, bool is)
{
	add_cell(t, is ? "true" : "false", false);
}

void table_add_json(struct table *t, const struct buf *value)
{
	add_cell(t, arena_strndup(t->arena, value->n ? value->at : "null", value->n ? value->n : 4), false);
}

void table_add_note(struct table *t, const char *text)
{
	vec_push(&t->note, ((struct table_note){table_rows(t), arena_strndup(t->arena, text, strlen(text))}));
}

uint32_t table_rows(const struct table *t)
{
	assert(t->cell.n % t->n == 0);
	return t->cell.n / t->n;
}

static bool has_column(const struct table *t, unsigned k)
{
	return !t->column[k].in || t->column[k].in & 1 << t->format;
}

static const struct table_cell *cell_of(const struct table *t, uint32_t row, unsigned k)
{
	return &t->cell.at[row * t->n + k];
}

/* ---- text */

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Counts the characters of the first line of a text. */
static unsigned count_characters(const char *text)
{
	unsigned n = 0;
	for (; *text && *text != '\n'; text++)
		n += !is_continuation(*text);
	return n;
}

void table_put_cut(const char *text, unsigned width, struct buf *out)
{
	unsigned n = count_characters(text), k = 0, kept = n > width ? width - 1 : n;
	const char *end = text;
	for (; *end && *end != '\n' && (k < kept || is_continuation(*end)); end++)
		k += !is_continuation(*end);
	buf_putn(out, text, (size_t)(end - text));
	if (n > width)
		buf_puts(out, "…");
}

static const char *shown(const struct table *t, uint32_t row, unsigned k)
{
	const char *text = cell_of(t, row, k)->text, *none = t->column[k].none;
	return text ? text : none ? none : "";
}

/* Returns line 0 or 1 of a column's title; "": it has no such line. */
static const char *title_of(const struct table *t, unsigned k, unsigned line)
{
	const struct table_column *c = &t->column[k];
	const char *title = c->title ? c->title : c->name ? c->name : "", *end = strchr(title, '\n');
	return !line ? title : end ? end + 1 : "";
}

static unsigned gap_of(const struct table *t, unsigned k)
{
	return t->column[k].before ? (unsigned)strlen(t->column[k].before) : t->gap;
}

static unsigned widen(const struct table_column *c, unsigned width, unsigned to)
{
	to = c->most && to > c->most ? c->most : to;
	return to > width ? to : width;
}

/* Finds the width of each column from the rows so far. */
static void find_widths(const struct table *t, unsigned *width)
{
	unsigned all = 0;
	for (unsigned k = 0; k < t->n; k++) {
		width[k] = t->column[k].width;
		for (unsigned line = 0; line < 2; line++)
			width[k] = widen(&t->column[k], width[k], count_characters(title_of(t, k, line)));
		for (uint32_t row = 0; row < table_rows(t); row++)
			width[k] = widen(&t->column[k], width[k], count_characters(shown(t, row, k)));
		if (has_column(t, k))
			all += width[k] + (all ? gap_of(t, k) : 0);
	}
	for (; t->line && all > t->line; all--) { /* narrows the widest column that may be cut */
		unsigned widest = t->n;
		for (unsigned k = 0; k < t->n; k++)
			if (has_column(t, k) && t->column[k].cut && width[k] > t->column[k].cut &&
			    (widest == t->n || width[k] > width[widest]))
				widest = k;
		if (widest == t->n)
			break;
		width[widest]--;
	}
}

static void put_aligned(const char *text, unsigned width, const struct table_column *c, struct buf *out)
{
	unsigned n = count_characters(text), pad = n < width ? width - n : 0;
	if (!c->left)
		buf_pad(out, ' ', pad);
	if (c->cut)
		table_put_cut(text, width, out);
	else
		buf_putn(out, text, strcspn(text, "\n"));
	if (c->left)
		buf_pad(out, ' ', pad);
}

static void put_gap(const struct table *t, unsigned k, struct buf *out)
{
	if (t->column[k].before)
		buf_puts(out, t->column[k].before);
	else
		buf_pad(out, ' ', t->gap);
}

static void end_line(struct buf *out)
{
	while (out->n && out->at[out->n - 1] == ' ')
		out->n--;
	buf_putc(out, '\n');
}

static void put_title_line(const struct table *t, const unsigned *width, unsigned line, struct buf *out)
{
	bool any = false;
	for (unsigned k = 0; k < t->n; k++)
		any |= has_column(t, k) && *title_of(t, k, line);
	if (!any)
		return;
	unsigned before = t->comment ? (unsigned)strlen(t->comment) : 0;
	if (t->comment)
		buf_puts(out, t->comment);
	any = false;
	for (unsigned k = 0; k < t->n; k++) {
		if (!has_column(t, k))
			continue;
		if (any && line)
			buf_pad(out, ' ', gap_of(t, k));
		else if (any)
			put_gap(t, k, out);
		put_aligned(title_of(t, k, line), width[k] - (any ? 0 : before), &t->column[k], out);
		any = true;
	}
	end_line(out);
}

static void put_text_row(const struct table *t, const unsigned *width, uint32_t row, struct buf *out)
{
	bool any = false;
	for (unsigned k = 0; k < t->n; k++) {
		if (!has_column(t, k))
			continue;
		if (any)
			put_gap(t, k, out);
		put_aligned(shown(t, row, k), width[k], &t->column[k], out);
		any = true;
	}
	end_line(out);
}

static void put_note(const struct table *t, const unsigned *width, const char *text, struct buf *out)
{
	enum { MORE = 4 };
	buf_pad(out, ' ', width[0] + MORE);
	if (t->line > width[0] + MORE)
		table_put_cut(text, t->line - width[0] - MORE, out);
	else
		buf_puts(out, text);
	buf_putc(out, '\n');
}

static void put_text_rows(const struct table *t, const unsigned *width, struct buf *out)
{
	uint32_t note = 0;
	for (uint32_t row = 0; row < table_rows(t); row++) {
		put_text_row(t, width, row, out);
		for (; note < t->note.n && t->note.at[note].row <= row + 1; note++)
			put_note(t, width, t->note.at[note].text, out);
	}
}

/* ---- CSV */

static void put_csv_text(const char *text, struct buf *out)
{
	if (!text || !strpbrk(text, ",\"\r\n")) {
		buf_puts(out, text ? text : "");
		return;
	}
	buf_putc(out, '"');
	for (; *text; text++)
		buf_printf(out, *text == '"' ? "\"\"" : "%c", *text);
	buf_putc(out, '"');
}

/* row: NULL for the row of names. */
static void put_csv_row(const struct table *t, const uint32_t *row, struct buf *out)
{
	const char *between = "";
	for (unsigned k = 0; k < t->n; k++) {
		const struct table_column *c = &t->column[k];
		if (!has_column(t, k))
			continue;
		buf_puts(out, between);
		if (!row && c->group)
			buf_printf(out, "%s_", c->group);
		put_csv_text(row ? cell_of(t, *row, k)->text : c->name, out);
		between = ",";
	}
	buf_putc(out, '\n');
}

/* ---- JSON */

static void put_json_member(const struct table *t, uint32_t row, unsigned k, struct buf *out)
{
	const struct table_cell *c = cell_of(t, row, k);
	json_put_string(out, t->column[k].name);
	buf_puts(out, ": ");
	if (c->quoted)
		json_put_string(out, c->text);
	else
		buf_puts(out, c->text ? c->text : "null");
}

/* Returns the end of the group that begins with column k; *any: one of its cells is present. */
static unsigned end_of_group(const struct table *t, uint32_t row, unsigned k, bool *any)
{
	const char *group = t->column[k].group;
	for (*any = false; k < t->n && t->column[k].group && !strcmp(t->column[k].group, group); k++)
		*any |= has_column(t, k) && cell_of(t, row, k)->text;
	return k;
}

static unsigned put_json_group(const struct table *t, uint32_t row, unsigned k, struct buf *out)
{
	const char *between = "{";
	bool any;
	unsigned end = end_of_group(t, row, k, &any);
	json_put_string(out, t->column[k].group);
	buf_puts(out, any ? ": " : ": null");
	for (; k < end && any; k++) {
		if (!has_column(t, k))
			continue;
		buf_puts(out, between);
		put_json_member(t, row, k, out);
		between = ", ";
	}
	if (any)
		buf_putc(out, '}');
	return end;
}

static void put_json_row(const struct table *t, uint32_t row, struct buf *out)
{
	const char *between = "{";
	for (unsigned k = 0; k < t->n;) {
		if (!has_column(t, k)) {
			k++;
			continue;
		}
		buf_puts(out, between);
		between = ", ";
		if (t->column[k].group) {
			k = put_json_group(t, row, k, out);
		} else {
			put_json_member(t, row, k, out);
			k++;
		}
	}
	buf_putc(out, '}');
}

/* ---- all formats */

static void put_titles(const struct table *t, const unsigned *width, struct buf *out)
{
	if (t->format == TABLE_CSV)
		put_csv_row(t, NULL, out);
	for (unsigned line = 0; t->format == TABLE_TEXT && line < 2; line++)
		put_title_line(t, width, line, out);
}

static void put_rows(struct table *t, const unsigned *width, struct buf *out)
{
	if (t->format == TABLE_TEXT)
		put_text_rows(t, width, out);
	for (uint32_t row = 0; t->format != TABLE_TEXT && row < table_rows(t); row++) {
		if (t->format == TABLE_CSV) {
			put_csv_row(t, &row, out);
			continue;
		}
		bool first = !(t->printed + row);
		if (t->in_line)
			buf_puts(out, first ? "" : ", ");
		else
			buf_puts(out, first ? "\n" : ",\n");
		buf_pad(out, ' ', t->indent);
		put_json_row(t, row, out);
	}
	t->printed += table_rows(t);
	t->cell.n = t->note.n = 0;
}

void table_put(struct table *t, struct buf *out)
{
	unsigned width[TABLE_MOST_COLUMNS];
	if (t->format == TABLE_TEXT)
		find_widths(t, width);
	if (t->format == TABLE_JSON)
		buf_putc(out, '[');
	put_titles(t, width, out);
	put_rows(t, width, out);
	if (t->format == TABLE_JSON)
		buf_putc(out, ']');
}

static void given_widths(const struct table *t, unsigned *width)
{
	for (unsigned k = 0; k < t->n; k++)
		width[k] = t->column[k].width;
}

void table_put_titles(const struct table *t, struct buf *out)
{
	unsigned width[TABLE_MOST_COLUMNS];
	given_widths(t, width);
	put_titles(t, width, out);
}

void table_put_rows(struct table *t, struct buf *out)
{
	unsigned width[TABLE_MOST_COLUMNS];
	given_widths(t, width);
	put_rows(t, width, out);
}
