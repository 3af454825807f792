/* show_json: see show_json.h. */
#include "show/show_json.h"
#include "base/json_put.h"
#include "base/table.h"
#include "show/show_words.h"

enum { VERSION = 1 };

#define OPEN(columns) table_open(TABLE_JSON, columns, sizeof(columns) / sizeof *(columns))

static void start(const char *picture, struct buf *out)
{
	json_put_start(out, VERSION, "show");
	json_put_more(out, "picture", picture);
}

/* `, "key": [ … ]`, and frees the table. */
static void put_table(const char *key, struct table *t, struct buf *out)
{
	buf_printf(out, ",\n\"%s\": ", key);
	table_put(t, out);
	table_close(t);
}

static void add_buf(struct table *t, struct buf *text)
{
	table_add_text(t, text->n ? text->at : "");
	text->n = 0;
}

/* place: " (f.hir:7)", or "" where there is none. */
static void add_where(struct table *t, const char *place)
{
	size_t n = strlen(place);
	table_add_text(t, n > 3 ? arena_strndup(t->arena, place + 2, n - 3) : NULL);
}

/* ---- layouts */

static void add_blocks(const struct layout_side *s, struct table *to)
{
	static const struct table_column column[] = {{.name = "block"},
	                                             {.name = "elements"},
	                                             {.name = "bytes"},
	                                             {.name = "devices"},
	                                             {.name = "label"}};
	struct table t = OPEN(column);
	struct buf text = {0};
	t.indent = 2;
	for (uint32_t k = 0; k < s->block.n; k++) {
		const struct layout_block *b = &s->block.at[k];
		layout_put_block(s, b, &text);
		add_buf(&t, &text);
		table_add_int(&t, b->elements);
		table_add_int(&t, b->elements * s->bytes);
		for (uint32_t i = 0; i < b->device.n; i++)
			buf_printf(&text, "%s%u", i ? ", " : "[", b->device.at[i]);
		buf_puts(&text, b->device.n ? "]" : "[]");
		table_add_json(&t, &text);
		text.n = 0;
		table_add_text(&t, b->devices);
	}
	table_put(&t, &text);
	table_add_json(to, &text);
	table_close(&t);
	buf_free(&text);
}

static void put_moves(const struct layout_picture *p, struct buf *out)
{
	static const struct table_column column[] = {{.name = "from"}, {.name = "to"}, {.name = "bytes"}};
	struct table t = OPEN(column);
	for (uint32_t q = 0; p->counted && q < p->pairs.n; q++)
		for (uint32_t k = 0; k < p->pairs.n; k++) {
			int64_t bytes = p->pairs.bytes[(size_t)q * p->pairs.n + k];
			if (!bytes)
				continue;
			table_add_int(&t, p->pairs.device[q]);
			table_add_int(&t, p->pairs.device[k]);
			table_add_int(&t, bytes);
		}
	put_table("moves", &t, out);
}

void layout_picture_json(const struct layout_picture *p, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "name"}, {.name = "type"}, {.name = "note"}, {.name = "blocks"}};
	struct table t = OPEN(column);
	start("layout", out);
	json_put_more(out, "change", p->n > 1 ? p->change : NULL);
	if (p->n > 1 && p->counted) {
		json_put_int(out, "total_bytes", p->total);
		json_put_int(out, "most_bytes", p->most);
	} else if (p->n > 1) {
		json_put_more(out, "unknown", p->unknown);
	}
	for (unsigned k = 0; k < p->n; k++) {
		table_add_text(&t, p->side[k].name);
		table_add_text(&t, p->side[k].type);
		table_add_text(&t, p->side[k].note);
		add_blocks(&p->side[k], &t);
	}
	put_table("tensors", &t, out);
	put_moves(p, out);
	buf_puts(out, "}\n");
}

/* ---- steps of a loop */

static void put_statements(const struct steps_picture *p, struct buf *out)
{
	static const struct table_column column[] = {{.name = "statement"}, {.name = "where"}};
	struct table t = OPEN(column);
	struct buf text = {0};
	for (uint32_t k = 0; k < p->op.n; k++) {
		show_put_statement(p->m, p->op.at[k], &text);
		add_buf(&t, &text);
		show_put_place(p->m, p->op.at[k], &text);
		add_where(&t, text.n ? text.at : "");
		text.n = 0;
	}
	put_table("statements", &t, out);
	buf_free(&text);
}

static void add_event(uint32_t rank, int64_t step, const struct steps_event *e, struct table *t)
{
	static const char *const kind[] = {[STEPS_COMPUTE] = "compute",
	                                   [STEPS_SEND] = "send",
	                                   [STEPS_RECV] = "recv",
	                                   [STEPS_EXCHANGE] = "exchange"};
	table_add_int(t, rank);
	table_add_int(t, step);
	table_add_text(t, kind[e->kind]);
	table_add_text(t, e->name);
	if (e->block >= 0)
		table_add_int(t, e->block);
	else
		table_add_none(t);
	table_add_bool(t, e->block == STEPS_NOTHING);
	table_add_text(t, *e->part ? e->part : NULL);
	if (e->kind == STEPS_COMPUTE || e->peer < 0)
		table_add_none(t);
	else
		table_add_int(t, e->peer);
}

void steps_picture_json(const struct steps_picture *p, struct buf *out)
{
	static const struct table_column column[] = {{.name = "rank"},   {.name = "step"},  {.name = "kind"},
	                                             {.name = "tensor"}, {.name = "block"}, {.name = "empty"},
	                                             {.name = "part"},   {.name = "peer"}};
	struct table t = OPEN(column);
	start("pipeline", out);
	json_put_more(out, "title", p->title);
	json_put_int(out, "first", p->first);
	json_put_int(out, "steps", p->n);
	put_statements(p, out);
	for (uint32_t r = 0; r < p->rank_n; r++)
		for (int64_t i = 0; i < p->n; i++) {
			const struct steps_cell *cell = steps_cell_of(p, r, i);
			for (uint32_t e = 0; e < cell->event.n; e++)
				add_event(p->rank[r], p->first + i, &cell->event.at[e], &t);
		}
	put_table("events", &t, out);
	buf_puts(out, "}\n");
}

/* ---- graphs */

void graph_picture_json(const struct graph_picture *p, struct buf *out)
{
	static const struct table_column node_column[] = {{.name = "id"},
	                                                  {.name = "lane"},
	                                                  {.name = "iteration"},
	                                                  {.name = "statement"},
	                                                  {.name = "where"}};
	static const struct table_column edge_column[] = {{.name = "from"}, {.name = "to"}, {.name = "kind"}};
	static const char *const word[] = {
	    [GRAPH_DATA] = "uses", [GRAPH_WAIT] = "waits for", [GRAPH_START] = "starts after"};
	struct table nodes = OPEN(node_column), edges = OPEN(edge_column);
	start("graph", out);
	json_put_more(out, "title", p->title);
	json_put_int(out, "left_out", p->more);
	for (uint32_t k = 0; k < p->node.n; k++) {
		const struct graph_node *x = &p->node.at[k];
		table_add_int(&nodes, k);
		table_add_text(&nodes, p->lane.at[x->lane].name);
		if (x->iteration >= 0)
			table_add_int(&nodes, x->iteration);
		else
			table_add_none(&nodes);
		table_add_text(&nodes, x->text);
		add_where(&nodes, x->place);
	}
	for (uint32_t e = 0; e < p->edge.n; e++) {
		table_add_int(&edges, p->edge.at[e].from);
		table_add_int(&edges, p->edge.at[e].to);
		table_add_text(&edges, word[p->edge.at[e].kind]);
	}
	put_table("nodes", &nodes, out);
	put_table("edges", &edges, out);
	buf_puts(out, "}\n");
}
