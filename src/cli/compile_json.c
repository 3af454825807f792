/* compile_json: see compile_json.h. */
#include "cli/compile_json.h"
#include "base/json_put.h"
#include "cli/output.h"
#include "pass/pipeline.h"

enum { COMPILE_VERSION = 1 };

static const struct table_column program_column[] = {{.name = "program"},
                                                     {.name = "statements", .group = "stats"},
                                                     {.name = "values", .group = "stats"},
                                                     {.name = "types", .group = "stats"},
                                                     {.name = "expressions", .group = "stats"},
                                                     {.name = "bytes", .group = "stats"},
                                                     {.name = "remarks"}};
static const struct table_column remark_column[] = {
    {.name = "pass"}, {.name = "file"}, {.name = "line"}, {.name = "text"}};

static struct table open_remarks(void)
{
	struct table t = table_open(TABLE_JSON, remark_column, sizeof remark_column / sizeof *remark_column);
	t.indent = 2;
	return t;
}

void compile_json_open(struct compile_json *j, struct diag *d)
{
	*j = (struct compile_json){.d = d};
	j->programs = table_open(TABLE_JSON, program_column, sizeof program_column / sizeof *program_column);
	j->remarks = open_remarks();
	diag_set_copy(d, &j->messages);
}

void compile_json_remark(void *json, const char *pass, uint32_t at, const char *text)
{
	struct compile_json *j = json;
	uint32_t line, column;
	table_add_text(&j->remarks, pass);
	if (j->source && at != DIAG_NOWHERE) {
		source_position(j->source, at, &line, &column);
		table_add_text(&j->remarks, j->source->name);
		table_add_int(&j->remarks, line);
	} else {
		table_add_none(&j->remarks);
		table_add_none(&j->remarks);
	}
	table_add_text(&j->remarks, text);
}

uint32_t compile_json_statements(const struct module *m)
{
	uint32_t live = 0;
	for (op_id op = 1; op < m->op.n; op++)
		live += m->op.at[op].parent != 0;
	return live;
}

void compile_json_add(struct compile_json *j, const struct module *m, bool stats)
{
	enum { SIZES = 5 };
	struct table *t = &j->programs;
	struct buf remarks = {0};
	table_add_text(t, m ? names_text(m->names, m->name) : NULL);
	if (m && stats) {
		table_add_int(t, compile_json_statements(m));
		table_add_int(t, m->value.n - 1);
		table_add_int(t, m->type.n - 1);
		table_add_int(t, m->expr.n - 1);
		table_add_int(t, (int64_t)module_bytes(m));
	} else {
		for (unsigned k = 0; k < SIZES; k++)
			table_add_none(t);
	}
	table_put(&j->remarks, &remarks);
	table_add_json(t, &remarks);
	table_close(&j->remarks);
	j->remarks = open_remarks();
	j->source = NULL;
	buf_free(&remarks);
}

enum status compile_json_close(struct compile_json *j, enum status status)
{
	struct buf out = {0};
	diag_finish(j->d);
	diag_set_copy(j->d, NULL);
	json_put_start(&out, COMPILE_VERSION, "compile");
	buf_puts(&out, ",\n\"programs\": ");
	table_put(&j->programs, &out);
	buf_printf(&out, ",\n\"messages\": [%s]}\n", j->messages.n ? j->messages.at : "");
	bool ok = output_write(&out);
	if (status == STATUS_OK)
		status = output_status(ok);
	table_close(&j->programs);
	table_close(&j->remarks);
	buf_free(&j->messages);
	buf_free(&out);
	return status;
}

void compile_json_passes(struct buf *out)
{
	json_put_start(out, COMPILE_VERSION, "compile");
	buf_puts(out, ",\n\"passes\": ");
	pipeline_list_json(out);
	buf_puts(out, "}\n");
}
