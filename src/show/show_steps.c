/* show_steps: walks a loop on each rank. */
#include "show/show_steps.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/number.h"
#include "ir/part.h"
#include "ir/print.h"
#include "ir/unit.h"
#include "show/show_words.h"
#include "walk/walk.h"
#include <string.h>

struct steps_maker {
	struct steps_picture *p;
	struct module *m;
	struct diag *d;
	struct walk_program walk_program;
	struct walker walker;    /* of the rank that is being walked */
	struct steps_cell *cell; /* the cell that gets the events */
	bool *did;               /* by op: it computed or communicated */
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

/* Reports why the walk has failed. Returns false. */
static bool report_failure(struct steps_maker *k)
{
	enum diagnostic code;
	op_id op;
	const char *text = walk_failure(&k->walker, &code, &op);
	diag_error(k->d, code, k->m->op.at[op].at, "%s on rank %lld", text, (long long)k->walker.rank);
	return false;
}

static const char *name_of(struct steps_maker *k, value_id v)
{
	struct buf text = {0};
	value_id root = ir_root(k->m, v);
	ir_print_value_name(k->m, k->m->value.at[root].name ? root : v, &text);
	const char *name = arena_strndup(k->p->arena, text.at, text.n);
	buf_free(&text);
	return name;
}

/* Finds the steps of a value's loops in the current iteration. by_loop: bit set of the tensor axes that they
 * cut. */
static void find_bound(struct steps_maker *k, op_id op, value_id v, struct bound_at *out, unsigned *by_loop)
{
	const struct domain *d = value_domain(k->m, v);
	struct bound_steps steps;
	out->axes = *by_loop = 0;
	bound_steps_of(k->m, v, &steps);
	for (unsigned i = 0; i < d->loop_n; i++) {
		const unsigned loop = d->loop[i];
		const int axis = layout_logical_of(d, loop);
		if (axis < 0 || !steps.of[loop] ||
		    !walk_value(&k->walker, op, steps.of[loop], &out->step[loop]))
			continue;
		out->axes |= (uint64_t)1 << loop;
		*by_loop |= 1u << axis;
	}
}

/* Returns the number of an axis' block; STEPS_WHOLE: the axis is not cut. */
static int64_t block_number(const struct part_axis *x)
{
	if (x->from == x->to)
		return STEPS_NOTHING;
	return part_is_whole(x) ? STEPS_WHOLE : x->from / x->block;
}

/* cut: set if a loop cuts the block, not only devices. */
static struct steps_event event_of(struct steps_maker *k, enum steps_kind kind, op_id op, value_id v,
                                   int64_t peer, bool *cut)
{
	struct steps_event e = {.kind = (uint8_t)kind,
	                        .op = op,
	                        .peer = peer,
	                        .block = STEPS_WHOLE,
	                        .name = name_of(k, v),
	                        .part = ""};
	struct bound_at bound;
	struct part p;
	unsigned by_loop;
	*cut = false;
	find_bound(k, op, v, &bound, &by_loop);
	if (!part_of(k->m, k->m->value.at[v].type, k->walker.rank, &bound, &p))
		return e;
	for (unsigned loops = 2; loops-- > 0;)
		for (unsigned a = 0; a < p.n; a++) {
			const struct part_axis *x = &p.axis[a];
			const int64_t block = block_number(x);
			if ((by_loop >> a & 1) != loops || (block == STEPS_WHOLE && !loops))
				continue;
			e.block = block == STEPS_WHOLE ? 0 : block;
			if (block != STEPS_NOTHING)
				e.part = arena_printf(k->p->arena, "axis %u, %lld to %lld", a,
				                      (long long)x->from, (long long)x->to);
			*cut = loops;
			return e;
		}
	return e;
}

static void add_event(struct steps_maker *k, enum steps_kind kind, op_id op, value_id v, int64_t peer)
{
	bool cut;
	k->did[op] = true;
	vec_push(&k->cell->event, event_of(k, kind, op, v, peer, &cut));
}

/* ---- statements */

static bool is_here(const struct steps_maker *k, value_id v)
{
	uint32_t position;
	mesh_id mesh = value_type(k->m, v)->mesh;
	return !mesh || mesh_position(ir_mesh(k->m, mesh), k->walker.rank, &position);
}

/* Returns the result. If the loop adds up into the whole result, returns the operand that the loop cuts. */
static value_id worked_on(struct steps_maker *k, op_id op)
{
	value_id result = op_result(k->m, op, 0), v;
	bool cut;
	event_of(k, STEPS_COMPUTE, op, result, 0, &cut);
	for (unsigned i = 0; !cut && (v = op_read(k->m, op, i)); i++) {
		event_of(k, STEPS_COMPUTE, op, v, 0, &cut);
		if (cut)
			return v;
	}
	return result;
}

static void add_work_events(struct steps_maker *k, op_id op)
{
	if (op_is_unit(k->m, op)) {
		region_each (k->m, o, k->m->op.at[op].region)
			if (is_work(k->m, o))
				add_work_events(k, o);
		return;
	}
	value_id v = op_result(k->m, op, 0) ? worked_on(k, op) : op_read(k->m, op, 0);
	if (v && is_here(k, v))
		add_event(k, STEPS_COMPUTE, op, v, 0);
}

static void add_permute(struct steps_maker *k, op_id op, const struct membership *me, value_id in,
                        value_id out)
{
	int64_t to, from;
	if (!walk_scalar(&k->walker, op, 0, WALK_ANY, &to) ||
	    !walk_scalar(&k->walker, op, 1, WALK_ANY, &from))
		return;
	if (to >= 0 && to < me->n && me->device[to] != k->walker.rank)
		add_event(k, STEPS_SEND, op, in, me->device[to]);
	if (from >= 0 && from < me->n && me->device[from] != k->walker.rank)
		add_event(k, STEPS_RECV, op, out, me->device[from]);
}

static void add_collective_events(struct steps_maker *k, op_id op)
{
	const struct op *o = &k->m->op.at[op];
	struct membership me;
	int64_t root = 0;
	value_id in = op_read(k->m, op, 0), out = op_result(k->m, op, 0);
	if (!walk_membership(&k->walk_program, o->team, k->walker.rank, &me) || me.n < 2)
		return;
	if (o->kind == OP_COLLECTIVE_PERMUTE) {
		add_permute(k, op, &me, in, out);
		return;
	}
	if (!(op_traits(k->m, op) & TRAIT_ROOTED)) {
		add_event(k, STEPS_EXCHANGE, op, out && is_here(k, out) ? out : in, STEPS_ALL);
		return;
	}
	if (!walk_scalar(&k->walker, op, 0, WALK_ANY, &root) || root < 0 || root >= me.n)
		return;
	bool gives = op_root_gives((enum op_kind)o->kind);
	int64_t others = me.n == 2 ? (int64_t)me.device[1 - me.member] : STEPS_ALL;
	if ((me.member == root) == gives)
		add_event(k, STEPS_SEND, op, in, gives ? others : (int64_t)me.device[root]);
	else
		add_event(k, STEPS_RECV, op, out, gives ? (int64_t)me.device[root] : others);
}

static void add_message_events(struct steps_maker *k, op_id op, int64_t peer)
{
	bool sends = k->m->op.at[op].kind == OP_SEND;
	if (peer != k->walker.rank)
		add_event(k, sends ? STEPS_SEND : STEPS_RECV, op,
		          sends ? op_read(k->m, op, 0) : op_result(k->m, op, 0), peer);
}

static void add_step_events(struct steps_maker *k, const struct step *s)
{
	switch ((enum step_kind)s->kind) {
	case STEP_MESSAGE:
		if (s->op == s->of) /* a posted message was shown where it was prepared */
			add_message_events(k, s->of, s->peer);
		break;
	case STEP_PREPARE:
		add_message_events(k, s->of, s->peer);
		break;
	case STEP_MEET:
		add_collective_events(k, s->op);
		break;
	case STEP_WORK:
		if (is_moving(k->m, s->op))
			add_collective_events(k, s->op);
		else if (is_work(k->m, s->op))
			add_work_events(k, s->op);
		break;
	default:
		break;
	}
}

/* Adds the events of one iteration of the loop. */
static bool walk_iteration(struct steps_maker *k, region_id body, int64_t i)
{
	struct step s;
	walk_begin_region(&k->walker, body);
	k->walker.index[k->m->region.at[body].index] = i;
	while (walk_next(&k->walker, &s))
		add_step_events(k, &s);
	return !k->walker.failed || report_failure(k);
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

/* Removes the rows of ranks that do nothing in the loop. */
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

/* Lists the statements that computed or communicated, in the order of the program. */
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

/* Returns true if a rank is in a mesh or team. */
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
	static const struct walk_options options = {.whole_units = true};
	unsigned number = 0, count;
	int64_t stop = 0, ranks = module_ranks(m);
	*p = (struct steps_picture){.m = m, .arena = arena_new()};
	ir_number(m);
	op_id loop = find_loop(m, which, &number, &count);
	if (!loop)
		return no_loop(m, which, count, d);
	struct steps_maker k = {.p = p, .m = m, .d = d, .did = arena_new_array(p->arena, bool, m->op.n)};
	region_id body = m->op.at[loop].region;
	bool ok = true;
	walk_program_open(&k.walk_program, m, ranks);
	walk_begin(&k.walker, &k.walk_program, 0, &options);
	if (!walk_scalar(&k.walker, loop, 0, WALK_ANY, &p->first) ||
	    !walk_scalar(&k.walker, loop, 1, WALK_ANY, &stop))
		ok = report_failure(&k);
	p->n = ok && stop > p->first ? stop - p->first : 0;
	if (p->n > STEPS_MOST_CELLS / ranks) {
		diag_error(d, E_PICTURE_LIMIT, m->op.at[loop].at,
		           "%lld steps of %lld ranks are more than the %d cells that a picture has",
		           (long long)p->n, (long long)ranks, STEPS_MOST_CELLS);
		p->n = 0;
		ok = false;
	}
	p->rank = arena_new_array(p->arena, uint32_t, ranks);
	p->cell = arena_new_array(p->arena, struct steps_cell, p->n * ranks);
	for (; ok && p->rank_n < ranks; p->rank_n++) {
		p->rank[p->rank_n] = p->rank_n;
		k.walker.rank = p->rank_n;
		for (int64_t i = 0; i < p->n && ok && takes_part(m, p->rank_n); i++) {
			k.cell = &p->cell[p->rank_n * p->n + i];
			ok = walk_iteration(&k, body, p->first + i);
		}
	}
	walk_end(&k.walker);
	walk_program_close(&k.walk_program);
	if (!ok)
		return false;
	drop_idle(p);
	put_in_order(p, body, k.did);
	p->title = title_of(p, loop, number, count);
	return true;
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
	for (uint32_t r = 0; r <= p->rank_n; r++) { /* row 0 is the header */
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
