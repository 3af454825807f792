/* show_steps: walks a loop on each rank. */
#include "show/show_steps.h"
#include "ir/bound.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/held.h"
#include "ir/number.h"
#include "ir/print.h"
#include "ir/unit.h"
#include "show/show_words.h"
#include <string.h>

struct walk {
	struct steps_picture *p;
	struct module *m;
	struct diag *d;
	int64_t *index; /* by index_id */
	uint32_t rank;
	struct steps_cell *cell; /* NULL: outside the loop that is shown */
	bool *did;               /* by op: it computed or communicated */
	bool failed;
};

static bool is_work(const struct module *m, op_id op)
{
	const struct op *o = &m->op.at[op];
	return (op_info[o->kind].form == FORM_CALL || op_is_unit(m, op)) && !(op_traits(m, op) & TRAIT_VIEW);
}

static bool is_moving(const struct module *m, op_id op)
{
	return op_traits(m, op) & (TRAIT_COLLECTIVE | TRAIT_P2P) || m->op.at[op].kind == OP_DISPATCH ||
	       m->op.at[op].kind == OP_COMBINE;
}

static bool has_events(const struct module *m, region_id r)
{
	region_each (m, op, r) {
		const struct op *o = &m->op.at[op];
		if (is_work(m, op) || is_moving(m, op))
			return true;
		if (o->kind == OP_FOR || o->kind == OP_IF)
			for (region_id x = o->region; x; x = m->region.at[x].sibling)
				if (has_events(m, x))
					return true;
	}
	return false;
}

/* ---- values of scalars and blocks */

static bool value_of(struct walk *w, op_id op, expr_id e, int64_t *out)
{
	const struct expr_env env = {.rank = w->rank, .streams = INT32_MAX, .index = w->index};
	expr_id offending = 0;
	if (expr_eval(w->m, e, &env, out, &offending) == EXPR_OK)
		return true;
	struct buf text = {0};
	expr_print_hir(w->m, offending ? offending : e, &text);
	if (!w->failed)
		diag_error(w->d, E_VALUE_UNDEFINED, w->m->op.at[op].at, "'%s' has no value on rank %u",
		           text.at, w->rank);
	buf_free(&text);
	w->failed = true;
	return false;
}

static bool evaluate_scalar(struct walk *w, op_id op, unsigned k, int64_t *out)
{
	const struct scalar *s = &w->m->scalar.at[op_operand_id(w->m, op, ROLE_SCALAR, k)];
	if (s->expr)
		return value_of(w, op, s->expr, out);
	*out = (int64_t)s->literal;
	return true;
}

static const char *name_of(struct walk *w, value_id v)
{
	struct buf text = {0};
	value_id root = ir_root(w->m, v);
	ir_print_value_name(w->m, w->m->value.at[root].name ? root : v, &text);
	const char *name = arena_strndup(w->p->arena, text.at, text.n);
	buf_free(&text);
	return name;
}

/* The block that one axis of a tensor is in here; STEPS_WHOLE: the axis is not cut. */
static int64_t block_along(struct walk *w, const struct held_layout *l, unsigned axis, const int64_t *step,
                           const char **part)
{
	held_intervals held;
	int64_t size, number = STEPS_WHOLE, extent;
	if (expr_eval(w->m, l->s.axis[axis].extent, &(struct expr_env){.rank = -1}, &extent, NULL) !=
	        EXPR_OK ||
	    !held_block(w->m, l, axis, step, &size) || !held_axis(w->m, l, axis, w->rank, step, &held))
		return STEPS_WHOLE;
	if (!held.n)
		number = STEPS_NOTHING;
	else if (held.n > 1 || held.at[0].from || held.at[0].to < extent)
		number = size ? held.at[0].from / size : 0;
	if (held.n)
		*part = arena_printf(w->p->arena, "axis %u, %lld to %lld", axis, (long long)held.at[0].from,
		                     (long long)held.at[held.n - 1].to);
	vec_free(&held);
	return number;
}

/* cut: set if a loop cuts it, not devices alone. */
static struct steps_event event_of(struct walk *w, enum steps_kind kind, op_id op, value_id v, int64_t peer,
                                   bool *cut)
{
	struct steps_event e = {.kind = (uint8_t)kind,
	                        .op = op,
	                        .peer = peer,
	                        .block = STEPS_WHOLE,
	                        .name = name_of(w, v),
	                        .part = ""};
	struct held_layout l;
	struct bound_steps bound;
	*cut = false;
	if (!held_layout_read(w->m, w->m->value.at[v].type, &l))
		return e;
	bound_steps_of(w->m, v, &bound);
	for (unsigned by_loop = 2; by_loop-- > 0;)
		for (unsigned a = 0; a < l.s.rank; a++) {
			int64_t step[SUGAR_MAX_PLACES];
			bool loops = false;
			for (unsigned k = 0; k < SUGAR_MAX_PLACES; k++) {
				step[k] = -1;
				if (k < BOUND_LEVELS && bound.of[a][k] &&
				    value_of(w, op, bound.of[a][k], &step[k]))
					loops = true;
			}
			const char *part = "";
			int64_t block = loops == by_loop ? block_along(w, &l, a, step, &part) : STEPS_WHOLE;
			if (block == STEPS_WHOLE && !loops)
				continue;
			if (loops == by_loop) {
				e.block = block == STEPS_WHOLE ? 0 : block;
				e.part = part;
				*cut = loops;
				return e;
			}
		}
	return e;
}

static void add_event(struct walk *w, enum steps_kind kind, op_id op, value_id v, int64_t peer)
{
	bool cut;
	w->did[op] = true;
	vec_push(&w->cell->event, event_of(w, kind, op, v, peer, &cut));
}

/* ---- statements */

static bool is_here(const struct walk *w, value_id v)
{
	uint32_t position;
	mesh_id mesh = value_type(w->m, v)->mesh;
	return !mesh || mesh_position(ir_mesh(w->m, mesh), w->rank, &position);
}

/* The result, or, where the loop adds up into all of that, the operand that it cuts. */
static value_id worked_on(struct walk *w, op_id op)
{
	value_id result = op_result(w->m, op, 0), v;
	bool cut;
	event_of(w, STEPS_COMPUTE, op, result, 0, &cut);
	for (unsigned k = 0; !cut && (v = op_read(w->m, op, k)); k++) {
		event_of(w, STEPS_COMPUTE, op, v, 0, &cut);
		if (cut)
			return v;
	}
	return result;
}

static void add_work_events(struct walk *w, op_id op)
{
	if (op_is_unit(w->m, op)) {
		region_each (w->m, o, w->m->op.at[op].region)
			if (is_work(w->m, o))
				add_work_events(w, o);
		return;
	}
	value_id v = op_result(w->m, op, 0) ? worked_on(w, op) : op_read(w->m, op, 0);
	if (v && is_here(w, v))
		add_event(w, STEPS_COMPUTE, op, v, 0);
}

/* The slice of a team that holds the rank; NULL: none. */
static const uint32_t *slice_of(const struct walk *w, team_id team, uint32_t *n, uint32_t *own)
{
	const struct team *t = ir_team(w->m, team);
	for (uint32_t s = 0; s < t->slice_n; s++)
		for (uint32_t k = t->start[s]; k < t->start[s + 1]; k++)
			if (t->device[k] == w->rank) {
				*n = t->start[s + 1] - t->start[s];
				*own = k - t->start[s];
				return t->device + t->start[s];
			}
	return NULL;
}

static void add_permute(struct walk *w, op_id op, const uint32_t *device, uint32_t n, value_id in,
                        value_id out)
{
	int64_t to, from;
	if (!evaluate_scalar(w, op, 0, &to) || !evaluate_scalar(w, op, 1, &from))
		return;
	if (to >= 0 && to < n && device[to] != w->rank)
		add_event(w, STEPS_SEND, op, in, device[to]);
	if (from >= 0 && from < n && device[from] != w->rank)
		add_event(w, STEPS_RECV, op, out, device[from]);
}

static void add_collective_events(struct walk *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	uint32_t n = 0, own = 0;
	int64_t root = 0;
	value_id in = op_read(w->m, op, 0), out = op_result(w->m, op, 0);
	const uint32_t *device = o->team ? slice_of(w, o->team, &n, &own) : NULL;
	if (!device || n < 2)
		return;
	if (o->kind == OP_COLLECTIVE_PERMUTE) {
		add_permute(w, op, device, n, in, out);
		return;
	}
	if (!(op_traits(w->m, op) & TRAIT_ROOTED)) {
		add_event(w, STEPS_EXCHANGE, op, out ? out : in, STEPS_ALL);
		return;
	}
	if (!evaluate_scalar(w, op, 0, &root) || root < 0 || root >= n)
		return;
	bool gives = op_root_gives((enum op_kind)o->kind);
	int64_t others = n == 2 ? (int64_t)device[1 - own] : STEPS_ALL;
	if ((own == root) == gives)
		add_event(w, STEPS_SEND, op, in, gives ? others : (int64_t)device[root]);
	else
		add_event(w, STEPS_RECV, op, out, gives ? (int64_t)device[root] : others);
}

static void walk_region(struct walk *w, region_id r);

static void walk_for(struct walk *w, op_id op)
{
	int64_t start, stop;
	region_id body = w->m->op.at[op].region;
	if (!evaluate_scalar(w, op, 0, &start) || !evaluate_scalar(w, op, 1, &stop))
		return;
	for (int64_t i = start; i < stop && !w->failed; i++) {
		w->index[w->m->region.at[body].index] = i;
		walk_region(w, body);
	}
}

static void walk_op(struct walk *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	int64_t peer;
	if (o->kind == OP_FOR) {
		walk_for(w, op);
	} else if (o->kind == OP_IF) {
		if (!evaluate_scalar(w, op, 0, &peer))
			return;
		region_id branch = peer ? o->region : w->m->region.at[o->region].sibling;
		if (branch)
			walk_region(w, branch);
	} else if (o->kind == OP_SEND || o->kind == OP_RECV) {
		if (evaluate_scalar(w, op, 0, &peer) && peer != w->rank)
			add_event(w, o->kind == OP_SEND ? STEPS_SEND : STEPS_RECV, op,
			          o->kind == OP_SEND ? op_read(w->m, op, 0) : op_result(w->m, op, 0), peer);
	} else if (is_moving(w->m, op)) {
		add_collective_events(w, op);
	} else if (is_work(w->m, op)) {
		add_work_events(w, op);
	}
}

static void walk_region(struct walk *w, region_id r)
{
	region_each (w->m, op, r) {
		if (w->failed)
			return;
		walk_op(w, op);
	}
}

/* ---- the loop */

static op_id find_loop(const struct module *m, int64_t which, unsigned *number, unsigned *count)
{
	op_id found = 0;
	bool stream = false;
	*count = 0;
	region_each (m, op, m->body) {
		const struct op *o = &m->op.at[op];
		if (o->kind != OP_FOR || !has_events(m, o->region))
			continue;
		++*count;
		bool better = which ? *count == which : !found || (!stream && o->flags & OP_STREAM_LOOP);
		if (!better)
			continue;
		found = op;
		stream = o->flags & OP_STREAM_LOOP;
		*number = *count;
	}
	return found;
}

static bool no_loop(struct module *m, int64_t which, unsigned count, struct diag *d)
{
	if (which && count)
		diag_error(d, E_PICTURE_LOOP, DIAG_NOWHERE,
		           "--loop=%lld: the program has %u loop%s that compute%s or communicate%s",
		           (long long)which, count, count == 1 ? "" : "s", count == 1 ? "s" : "",
		           count == 1 ? "s" : "");
	else
		diag_error(d, E_PICTURE_LOOP, DIAG_NOWHERE, "no loop of '%s' computes or communicates",
		           names_text(m->names, m->name));
	if (!count)
		diag_note(d, DIAG_NOWHERE, "layouts with '@stream(n)' or '@swizzle1d(x)' make loops");
	return false;
}

static bool is_idle(const struct steps_picture *p, uint32_t rank)
{
	for (int64_t i = 0; i < p->n; i++)
		if (steps_cell_of(p, rank, i)->event.n)
			return false;
	return true;
}

/* Ranks that do nothing in the loop have no row. */
static void drop_idle(struct steps_picture *p)
{
	uint32_t n = 0;
	for (uint32_t r = 0; r < p->rank_n; r++) {
		if (is_idle(p, r))
			continue;
		memmove(&p->cell[n * p->n], &p->cell[r * p->n], sizeof *p->cell * (size_t)p->n);
		p->rank[n++] = p->rank[r];
	}
	p->rank_n = n;
}

/* The statements that did something, in the order of the program. */
static void put_in_order(struct steps_picture *p, region_id r, bool *did)
{
	region_each (p->m, op, r) {
		if (did[op])
			vec_push(&p->op, op);
		for (region_id x = p->m->op.at[op].region; x; x = p->m->region.at[x].sibling)
			put_in_order(p, x, did);
	}
}

static const char *title_of(struct steps_picture *p, op_id loop, unsigned number, unsigned count)
{
	struct module *m = p->m;
	struct buf text = {0};
	index_id i = m->region.at[m->op.at[loop].region].index;
	buf_printf(&text, "%s: ", names_text(m->names, m->name));
	if (count > 1)
		buf_printf(&text, "loop %u of %u ", number, count);
	else
		buf_puts(&text, "loop ");
	buf_puts(&text, "over ");
	expr_print_hir(m, expr_index(m, i), &text);
	buf_printf(&text, ", %lld steps, %u ranks", (long long)p->n, p->rank_n);
	const char *title = arena_strndup(p->arena, text.at, text.n);
	buf_free(&text);
	return title;
}

/* Ranks in no mesh and no team idle. */
static bool takes_part(const struct module *m, uint32_t rank)
{
	uint32_t position;
	for (mesh_id k = 1; k < m->mesh.n; k++)
		if (mesh_position(ir_mesh(m, k), rank, &position))
			return true;
	for (team_id t = 1; t < m->team.n; t++)
		for (uint32_t k = 0; k < ir_team(m, t)->device_n; k++)
			if (ir_team(m, t)->device[k] == rank)
				return true;
	return m->mesh.n <= 1;
}

bool steps_picture_open(struct steps_picture *p, struct module *m, int64_t which, struct diag *d)
{
	unsigned number = 0, count;
	int64_t stop = 0, ranks = module_ranks(m);
	*p = (struct steps_picture){.m = m, .arena = arena_new()};
	ir_number(m);
	op_id loop = find_loop(m, which, &number, &count);
	if (!loop)
		return no_loop(m, which, count, d);
	struct walk w = {.p = p, .m = m, .d = d, .index = arena_new_array(p->arena, int64_t, m->index.n + 1)};
	w.did = arena_new_array(p->arena, bool, m->op.n);
	if (!evaluate_scalar(&w, loop, 0, &p->first) || !evaluate_scalar(&w, loop, 1, &stop))
		return false;
	p->n = stop > p->first ? stop - p->first : 0;
	if (p->n > STEPS_MOST_CELLS / ranks) {
		diag_error(d, E_PICTURE_LIMIT, m->op.at[loop].at,
		           "%lld steps of %lld ranks are more than the %d cells that a picture has",
		           (long long)p->n, (long long)ranks, STEPS_MOST_CELLS);
		p->n = 0;
		return false;
	}
	p->rank = arena_new_array(p->arena, uint32_t, ranks);
	p->cell = arena_new_array(p->arena, struct steps_cell, p->n * ranks);
	for (; p->rank_n < ranks && !w.failed; p->rank_n++) {
		p->rank[p->rank_n] = w.rank = p->rank_n;
		for (int64_t i = 0; i < p->n && !w.failed && takes_part(m, p->rank_n); i++) {
			w.index[m->region.at[m->op.at[loop].region].index] = p->first + i;
			w.cell = &p->cell[p->rank_n * p->n + i];
			walk_region(&w, m->op.at[loop].region);
		}
	}
	drop_idle(p);
	put_in_order(p, m->op.at[loop].region, w.did);
	p->title = title_of(p, loop, number, count);
	return !w.failed;
}

void steps_picture_close(struct steps_picture *p)
{
	for (int64_t k = 0; k < p->n * p->rank_n; k++)
		vec_free(&p->cell[k].event);
	vec_free(&p->op);
	arena_free(p->arena);
}

/* ---- as text */

void steps_put_block(const struct steps_event *e, const char *between, struct buf *out)
{
	buf_puts(out, e->name);
	if (e->block == STEPS_NOTHING)
		buf_printf(out, "%snone", between);
	else if (e->block != STEPS_WHOLE)
		buf_printf(out, "%s%lld", between, (long long)e->block);
}

static void put_event(const struct steps_picture *p, const struct steps_event *e, struct buf *out)
{
	if (e->kind == STEPS_EXCHANGE)
		buf_printf(out, "%s ", op_info[p->m->op.at[e->op].kind].hir);
	steps_put_block(e, ":", out);
	if (e->kind != STEPS_SEND && e->kind != STEPS_RECV)
		return;
	buf_puts(out, e->kind == STEPS_SEND ? "->" : "<-");
	if (e->peer == STEPS_ALL)
		buf_puts(out, "all");
	else
		buf_printf(out, "%lld", (long long)e->peer);
}

static void put_cell(const struct steps_picture *p, const struct steps_cell *c, struct buf *out)
{
	for (uint32_t k = 0; k < c->event.n; k++) {
		buf_puts(out, k ? " " : "");
		put_event(p, &c->event.at[k], out);
	}
	buf_puts(out, c->event.n ? "" : ".");
}

void steps_picture_print(const struct steps_picture *p, struct buf *out)
{
	struct buf text = {0};
	size_t *width = mem_zalloc(sizeof *width * ((size_t)p->n + 1));
	buf_printf(out, "%s\n", p->title);
	for (uint32_t k = 0; k < p->op.n; k++) {
		buf_puts(out, "  ");
		show_put_statement(p->m, p->op.at[k], out);
		show_put_place(p->m, p->op.at[k], out);
		buf_putc(out, '\n');
	}
	for (int64_t i = 0; i < p->n; i++) {
		width[i] = (size_t)snprintf(NULL, 0, "step %lld", (long long)(p->first + i));
		for (uint32_t r = 0; r < p->rank_n; r++) {
			text.n = 0;
			put_cell(p, steps_cell_of(p, r, i), &text);
			width[i] = text.n > width[i] ? text.n : width[i];
		}
	}
	for (uint32_t r = 0; r <= p->rank_n; r++) { /* row 0 is the head */
		size_t owed = 0;
		buf_puts(out, r ? "" : "rank");
		if (r)
			buf_printf(out, "%4u", p->rank[r - 1]);
		for (int64_t i = 0; i < p->n; i++) {
			text.n = 0;
			if (r)
				put_cell(p, steps_cell_of(p, r - 1, i), &text);
			else
				buf_printf(&text, "step %lld", (long long)(p->first + i));
			buf_pad(out, ' ', (unsigned)owed + 2);
			buf_puts(out, text.at);
			owed = width[i] - text.n;
		}
		buf_putc(out, '\n');
	}
	buf_free(&text);
	free(width);
}
