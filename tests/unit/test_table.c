/* Tests of src/base/table: the same rows as text, CSV and JSON. */
#include "base/table.h"
#include "check.h"

static const struct table_column column[] = {
    {.name = "name", .left = true, .cut = 4},
    {.name = "bytes", .title = "size\n(B)", .width = 6, .none = "-"},
    {.name = "time_us", .title = "us", .decimals = 2, .exact = 3, .sign = true, .suffix = " us"},
    {.name = "from", .group = "peer", .in = TABLE_IN_DATA, .left = true},
    {.name = "to", .group = "peer", .in = TABLE_IN_DATA},
    {.name = "ratio", .before = " = ", .decimals = 1},
    {.name = "done", .in = TABLE_IN_JSON},
};
enum { N = sizeof column / sizeof *column };

static void add_rows(struct table *t)
{
	table_add_text(t, "größe");
	table_add_int(t, 12);
	table_add_number(t, 1.23456);
	table_add_text(t, "a \"b\"");
	table_add_int(t, 3);
	table_add_number(t, 0.5);
	table_add_bool(t, true);
	table_add_note(t, "a note");
	table_add_text(t, "x, y");
	table_add_none(t);
	table_add_none(t);
	table_add_none(t);
	table_add_none(t);
	table_add_number(t, 1e9);
	table_add_none(t);
	CHECK_EQ(table_rows(t), 2);
}

static void test_format(enum table_format format, unsigned line, const char *want)
{
	struct table t = table_open(format, column, N);
	struct buf out = {0};
	t.line = line;
	add_rows(&t);
	table_put(&t, &out);
	CHECK_STR(out.at, want);
	CHECK_EQ(table_rows(&t), 0);
	buf_free(&out);
	table_close(&t);
}

static void test_formats(void)
{
	test_format(TABLE_TEXT, 0,
	            "name     size        us =        ratio\n"
	            "          (B)\n"
	            "größe      12  +1.23 us =          0.5\n"
	            "         a note\n"
	            "x, y        -           = 1000000000.0\n");
	test_format(TABLE_TEXT, 36,
	            "name    size        us =        ratio\n"
	            "         (B)\n"
	            "grö…      12  +1.23 us =          0.5\n"
	            "        a note\n"
	            "x, y       -           = 1000000000.0\n");
	test_format(TABLE_CSV, 0,
	            "name,bytes,time_us,peer_from,peer_to,ratio\n"
	            "größe,12,1.235,\"a \"\"b\"\"\",3,0.5\n"
	            "\"x, y\",,,,,1e+09\n");
	test_format(TABLE_JSON, 0,
	            "[\n"
	            "{\"name\": \"größe\", \"bytes\": 12, \"time_us\": 1.235, \"peer\": "
	            "{\"from\": \"a \\\"b\\\"\", \"to\": 3}, \"ratio\": 0.5, \"done\": true},\n"
	            "{\"name\": \"x, y\", \"bytes\": null, \"time_us\": null, \"peer\": null, "
	            "\"ratio\": 1e+09, \"done\": null}]");
}

/* Rows that come one by one have the widths of the columns. */
static void test_rows_one_by_one(void)
{
	static const struct table_column c[] = {{.name = "n", .width = 4}, {.name = "text", .left = true}};
	struct buf out = {0};
	struct table t = table_open(TABLE_TEXT, c, 2);
	t.comment = "#";
	t.gap = 1;
	table_put_titles(&t, &out);
	for (int k = 0; k < 2; k++) {
		table_add_int(&t, 10 * k);
		table_add_text(&t, "a long word");
		table_put_rows(&t, &out);
	}
	CHECK_STR(out.at, "#  n text\n   0 a long word\n  10 a long word\n");
	table_close(&t);
	out.n = 0;
	t = table_open(TABLE_JSON, c, 2);
	t.indent = 2;
	for (int k = 0; k < 2; k++) {
		table_add_int(&t, k);
		table_add_text(&t, "\t\xff");
		table_put_rows(&t, &out);
	}
	CHECK_STR(out.at, "\n  {\"n\": 0, \"text\": \"\\t\ufffd\"},\n  {\"n\": 1, \"text\": \"\\t\ufffd\"}");
	buf_free(&out);
	table_close(&t);
}

/* No rows: the titles, and an empty array. */
static void test_empty(void)
{
	struct buf out = {0};
	struct table t = table_open(TABLE_TEXT, column, 1);
	table_put(&t, &out);
	CHECK_STR(out.at, "name\n");
	table_close(&t);
	out.n = 0;
	t = table_open(TABLE_JSON, column, 1);
	table_put(&t, &out);
	CHECK_STR(out.at, "[]");
	table_close(&t);
	buf_free(&out);
}

int main(void)
{
	test_formats();
	test_rows_one_by_one();
	test_empty();
	return check_result();
}
