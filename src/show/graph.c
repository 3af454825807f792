/* graph: makes nodes from the tasks of a rank, and prints them. */
#include "show/graph.h"
#include "ir/number.h"
#include "show/show_words.h"
#include <stdlib.h>

struct making {
	struct graph_picture *p;
	struct sim_program *program;
	const struct sim_rank *r;
	uint32_t *node;                           /* by task: + 1; 0: none */
	uint32_t *lane_of_stream, *lane_of_place; /* lane + 1; 0: none yet */
	uint32_t sends, receives;                 /* lane + 1; 0: none yet */
	const char **text, **place;               /* by op */
};

static bool is_shown(const struct making *k, uint32_t task)
{
	const struct sim_task *t = &k->r->task.at[task];
	return t->kind != SIM_TAKE && t->kind != SIM_GIVE;
}

/* Returns the last node of a stream up to a task, + 1; 0: none. */
static uint32_t node_at(const struct making *k, uint32_t task)
{
	while (task != SIM_NONE && !k->node[task])
		task = k->r->task.at[task].before;
	return task == SIM_NONE ? 0 : k->node[task];
}

static uint32_t add_lane(struct making *k, uint32_t *at, const char *name, bool stream)
{
	if (!*at) {
		vec_push(&k->p->lane, ((struct graph_lane){.name = name, .stream = stream}));
		*at = k->p->lane.n;
	}
	return *at - 1;
}

static uint32_t lane_of(struct making *k, const struct sim_task *t)
{
	struct arena *a = k->p->arena;
	int64_t index = k->r->stream.at[t->stream];
	if (t->kind < SIM_MEETING)
		return add_lane(k, &k->lane_of_stream[t->stream],
		                index < 0 ? "main" : arena_printf(a, "stream %lld", (long long)index), true);
	const struct sim_channel *ch = &k->program->channel.at[k->r->place.at[t->channel].channel];
	if (ch->kind == SIM_CHANNEL_MESSAGES)
		return k->r->place.at[t->channel].receives ? add_lane(k, &k->receives, "receives", false)
		                                           : add_lane(k, &k->sends, "sends", false);
	const char *name = sim_channel_name(k->program, ch, a);
	return add_lane(k, &k->lane_of_place[t->channel],
	                ch->kind == SIM_CHANNEL_FENCE ? arena_printf(a, "fence %s", name) : name, false);
}

static void add_edge(struct making *k, uint32_t from, uint32_t to, enum graph_edge_kind kind)
{
	struct graph_picture *p = k->p;
	for (uint32_t i = p->edge.n; i-- > 0 && p->edge.at[i].to == to;)
		if (p->edge.at[i].from == from)
			return;
	vec_push(&p->edge, ((struct graph_edge){from, to, (uint8_t)kind}));
}

static const char *text_of(struct making *k, op_id op, bool place)
{
	const char **known = place ? &k->place[op] : &k->text[op];
	struct buf text = {0};
	if (*known)
		return *known;
	buf_puts(&text, "");
	if (place)
		show_put_place(k->program->m, op, &text);
	else
		show_put_statement(k->program->m, op, &text);
	*known = arena_strndup(k->p->arena, text.at, text.n);
	buf_free(&text);
	return *known;
}

static void add_node(struct making *k, uint32_t task)
{
	struct graph_picture *p = k->p;
	const struct sim_task *t = &k->r->task.at[task];
	struct graph_node node = {.text = text_of(k, t->op, false),
	                          .place = text_of(k, t->op, true),
	                          .lane = lane_of(k, t),
	                          .kind = t->kind,
	                          .iteration = t->iteration};
	uint32_t number = p->node.n,
	         also = t->also != SIM_NONE && t->kind == SIM_JOIN ? node_at(k, t->also) : 0;
	vec_push(&p->node, node);
	k->node[task] = number + 1;
	if (also)
		add_edge(k, also - 1, number, GRAPH_WAIT);
}

/* Adds an edge from the stream to the communication that it issues. */
static void add_start(struct making *k, uint32_t task)
{
	const struct sim_task *t = &k->r->task.at[task];
	uint32_t before = t->kind >= SIM_MEETING ? node_at(k, t->before) : 0;
	if (before)
		add_edge(k, before - 1, k->node[task] - 1, GRAPH_START);
}

static void add_needs(struct making *k, uint32_t task, uint32_t *next)
{
	const struct sim_rank *r = k->r;
	for (; *next < r->need.n && r->need.at[*next].task <= task; ++*next)
		if (r->need.at[*next].task == task && k->node[task] && k->node[r->need.at[*next].of])
			add_edge(k, k->node[r->need.at[*next].of] - 1, k->node[task] - 1, GRAPH_DATA);
}

struct stream_lane {
	int64_t index;
	uint32_t lane;
};

static int by_index(const void *a, const void *b)
{
	int64_t x = ((const struct stream_lane *)a)->index, y = ((const struct stream_lane *)b)->index;
	return x < y ? -1 : x > y;
}

/* Orders lanes: streams by their indices, then communicators. */
static void order_lanes(struct making *k)
{
	struct graph_picture *p = k->p;
	uint32_t n = 0, streams = 0, *to = arena_new_array(p->arena, uint32_t, p->lane.n);
	struct graph_lane *lane = arena_new_array(p->arena, struct graph_lane, p->lane.n);
	struct stream_lane *known = arena_new_array(p->arena, struct stream_lane, k->r->stream.n);
	for (uint32_t i = 0; i < k->r->stream.n; i++)
		if (k->lane_of_stream[i])
			known[streams++] = (struct stream_lane){k->r->stream.at[i], k->lane_of_stream[i] - 1};
	qsort(known, streams, sizeof *known, by_index);
	for (; n < streams; n++)
		to[known[n].lane] = n;
	for (uint32_t i = 0; i < p->lane.n; i++)
		if (!p->lane.at[i].stream)
			to[i] = n++;
	for (uint32_t i = 0; i < p->lane.n; i++)
		lane[to[i]] = p->lane.at[i];
	for (uint32_t i = 0; i < p->lane.n; i++)
		p->lane.at[i] = lane[i];
	for (uint32_t i = 0; i < p->node.n; i++)
		p->node.at[i].lane = to[p->node.at[i].lane];
}

/* Sets levels: each node is below all nodes with an edge to it, and below all nodes before it on its lane. */
static void settle_levels(struct graph_picture *p, uint32_t lanes)
{
	uint32_t *free_from = mem_zalloc(sizeof *free_from * ((size_t)lanes + 1));
	for (uint32_t i = 0, e = 0; i < p->node.n; i++) {
		struct graph_node *x = &p->node.at[i];
		x->level = free_from[x->lane];
		for (; e < p->edge.n && p->edge.at[e].to == i; e++)
			if (p->node.at[p->edge.at[e].from].level >= x->level)
				x->level = p->node.at[p->edge.at[e].from].level + 1;
		free_from[x->lane] = x->level + 1;
		p->levels = x->level >= p->levels ? x->level + 1 : p->levels;
	}
	free(free_from);
}

bool graph_picture_open(struct graph_picture *p, struct module *m, const struct cost *cost, int64_t streams,
                        int64_t rank, struct diag *d)
{
	struct sim_program program;
	struct sim_rank r = {0};
	*p = (struct graph_picture){.arena = arena_new()};
	ir_number(m);
	if (!sim_program_open(&program, m, cost, d))
		return false;
	program.streams = streams;
	bool ok = sim_rank_walk(&program, (uint32_t)rank, true, &r);
	struct making k = {.p = p, .program = &program, .r = &r};
	k.node = arena_new_array(p->arena, uint32_t, r.task.n);
	k.lane_of_stream = arena_new_array(p->arena, uint32_t, r.stream.n);
	k.lane_of_place = arena_new_array(p->arena, uint32_t, r.place.n);
	k.text = arena_new_array(p->arena, const char *, m->op.n);
	k.place = arena_new_array(p->arena, const char *, m->op.n);
	for (uint32_t i = 0, next = 0; ok && i < r.task.n; i++) {
		if (is_shown(&k, i) && p->node.n < GRAPH_MOST)
			add_node(&k, i);
		else if (is_shown(&k, i))
			p->more++;
		add_needs(&k, i, &next);
		if (k.node[i])
			add_start(&k, i);
	}
	order_lanes(&k);
	settle_levels(p, p->lane.n);
	p->title =
	    arena_printf(p->arena, "%s, rank %lld: %u statement%s on %u lane%s", names_text(m->names, m->name),
	                 (long long)rank, p->node.n + p->more, p->node.n + p->more == 1 ? "" : "s", p->lane.n,
	                 p->lane.n == 1 ? "" : "s");
	sim_rank_free(&r);
	sim_program_close(&program);
	return ok;
}

void graph_picture_close(struct graph_picture *p)
{
	vec_free(&p->node);
	vec_free(&p->edge);
	vec_free(&p->lane);
	arena_free(p->arena);
}

/* ---- as text */

void graph_picture_print(const struct graph_picture *p, struct buf *out)
{
	static const char *const word[] = {
	    [GRAPH_DATA] = "uses", [GRAPH_WAIT] = "waits for", [GRAPH_START] = "starts after"};
	int widest = 4, longest = 9;
	for (uint32_t k = 0; k < p->lane.n; k++)
		widest = (int)strlen(p->lane.at[k].name) > widest ? (int)strlen(p->lane.at[k].name) : widest;
	for (uint32_t k = 0; k < p->node.n; k++)
		longest =
		    (int)strlen(p->node.at[k].text) > longest ? (int)strlen(p->node.at[k].text) : longest;
	longest = longest > 60 ? 60 : longest;
	buf_printf(out, "%s\n   # %-*s  step  statement\n", p->title, widest, "lane");
	for (uint32_t k = 0, e = 0; k < p->node.n; k++) {
		const struct graph_node *x = &p->node.at[k];
		buf_printf(out, "%4u %-*s  ", k, widest, p->lane.at[x->lane].name);
		if (x->iteration < 0)
			buf_puts(out, "    ");
		else
			buf_printf(out, "%4lld", (long long)x->iteration);
		buf_printf(out, "  %s", x->text);
		bool any = false;
		for (unsigned kind = 0; kind < sizeof word / sizeof *word; kind++) {
			uint32_t count = 0;
			for (uint32_t i = e; i < p->edge.n && p->edge.at[i].to == k; i++)
				if (p->edge.at[i].kind == kind) {
					if (!any)
						buf_pad(out, ' ',
						        strlen(x->text) < (size_t)longest
						            ? (unsigned)((size_t)longest - strlen(x->text))
						            : 0);
					if (!count)
						buf_printf(out, "%s%s", any ? ", " : "  ", word[kind]);
					any = true;
					buf_printf(out, " %u", p->edge.at[i].from);
					count++;
				}
		}
		while (e < p->edge.n && p->edge.at[e].to == k)
			e++;
		buf_putc(out, '\n');
	}
	if (p->more)
		buf_printf(out, "and %u more\n", p->more);
}

static void put_quoted(const char *text, struct buf *out)
{
	buf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *text);
	}
	buf_putc(out, '"');
}

void graph_picture_dot(const struct graph_picture *p, struct buf *out)
{
	static const char *const look[] = {[GRAPH_DATA] = "",
	                                   [GRAPH_WAIT] = " [style=dashed, color=red]",
	                                   [GRAPH_START] = " [style=dotted]"};
	buf_puts(out, "digraph program {\n\tlabel=");
	put_quoted(p->title, out);
	buf_puts(out, ";\n\tnode [shape=box, fontname=monospace];\n");
	for (uint32_t l = 0; l < p->lane.n; l++) {
		uint32_t last = UINT32_MAX;
		buf_printf(out, "\tsubgraph cluster_%u {\n\t\tlabel=", l);
		put_quoted(p->lane.at[l].name, out);
		buf_puts(out, ";\n");
		for (uint32_t k = 0; k < p->node.n; k++) {
			const struct graph_node *x = &p->node.at[k];
			if (x->lane != l)
				continue;
			buf_printf(out, "\t\tn%u [label=", k);
			put_quoted(x->text, out);
			buf_puts(out, x->kind == SIM_JOIN ? ", shape=plain];\n" : "];\n");
			if (last != UINT32_MAX)
				buf_printf(out, "\t\tn%u -> n%u [style=invis];\n", last, k);
			last = k;
		}
		buf_puts(out, "\t}\n");
	}
	for (uint32_t e = 0; e < p->edge.n; e++)
		buf_printf(out, "\tn%u -> n%u%s;\n", p->edge.at[e].from, p->edge.at[e].to,
		           look[p->edge.at[e].kind]);
	if (p->more)
		buf_printf(out, "\tmore [label=\"and %u more\", shape=plain];\n", p->more);
	buf_puts(out, "}\n");
}
