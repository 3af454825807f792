/* sim_program: facts that are the same on all ranks: times, sizes, last uses of values. */
#include "cost/local.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/unit.h"
#include "sim/rank.h"
#include <string.h>

enum { BUCKETS = 1 << 10 }; /* initial number */

/* ---- last uses of values */

/* Returns the statement of region r that is op or contains op; 0: none. */
static op_id in_region(const struct module *m, op_id op, region_id r)
{
	while (op && m->op.at[op].parent != r)
		op = m->region.at[m->op.at[op].parent].owner;
	return op;
}

static bool is_owner(const struct sim_program *p, value_id v)
{
	const struct value *x = &p->m->value.at[v];
	return x->def && !(x->flags & VALUE_INPUT) && ir_root(p->m, v) == v && !ir_is_unit_local(p->m, v);
}

static void note_use(const struct sim_program *p, op_id *last, value_id v, op_id by)
{
	value_id root = ir_root(p->m, v);
	op_id def = p->m->value.at[root].def, unit = def ? ir_unit_of(p->m, def) : 0;
	if (is_owner(p, root))
		last[root] = in_region(p->m, by, p->m->op.at[unit ? unit : def].parent);
}

static void use_all(const struct sim_program *p, op_id *last, op_id op, op_id by)
{
	for (unsigned k = 0; k < p->m->op.at[op].operand_n; k++) {
		const struct operand *x = ir_operand(p->m, op, k);
		if (x->role == ROLE_READ || x->role == ROLE_WRITE || x->role == ROLE_DEF)
			note_use(p, last, x->id, by);
	}
}

/* Counts a wait as a use of the values of its Communications; a wait for a group, of the values of its
 * messages. */
static void use_waited(const struct sim_program *p, op_id *last, op_id wait)
{
	for (unsigned k = 0; k < op_role_count(p->m, wait, ROLE_STATEMENT); k++) {
		op_id op = op_operand_id(p->m, wait, ROLE_STATEMENT, k);
		use_all(p, last, op, wait);
		if (p->m->op.at[op].kind != OP_END_COALESCING)
			continue;
		while (op && p->m->op.at[op].kind != OP_START_COALESCING) {
			use_all(p, last, op, wait);
			op = p->m->op.at[op].prev;
		}
	}
}

static void find_deaths(struct sim_program *p)
{
	struct module *m = p->m;
	op_id *last = mem_zalloc(sizeof *last * m->value.n);
	bool *stays = mem_zalloc(m->value.n);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		use_all(p, last, op, op);
		if (m->op.at[op].kind == OP_WAIT)
			use_waited(p, last, op);
		for (unsigned k = 0; k < op_role_count(m, op, ROLE_FREE); k++)
			stays[ir_root(m, op_operand_id(m, op, ROLE_FREE, k))] = true;
	}
	for (value_id v = 1; v < m->value.n; v++)
		if (m->value.at[v].flags & VALUE_OUTPUT)
			stays[ir_root(m, v)] = true;
	for (value_id v = 1; v < m->value.n; v++) {
		if (!p->held[v] || stays[v] || !last[v])
			continue;
		vec_push(&p->dying, ((struct sim_dying){v, p->dies[last[v]]}));
		p->dies[last[v]] = p->dying.n;
	}
	free(last);
	free(stays);
}

/* ---- making it */

bool sim_program_open(struct sim_program *p, struct module *m, const struct cost *cost, struct diag *d)
{
	*p = (struct sim_program){.m = m,
	                          .cost = cost,
	                          .d = d,
	                          .arena = arena_new(),
	                          .streams = DEFAULT_STREAMS,
	                          .ranks = module_ranks(m),
	                          .begin = cost_step_begin(cost)};
	p->time = arena_new_array(p->arena, int64_t, m->op.n);
	p->moved = arena_new_array(p->arena, int64_t, m->op.n);
	p->issue = arena_new_array(p->arena, struct cost_issue, m->op.n);
	p->member = arena_new_array(p->arena, const uint32_t *, m->team.n);
	p->left_out = arena_new_array(p->arena, bool, m->op.n);
	p->held = arena_new_array(p->arena, int64_t, m->value.n);
	walk_program_open(&p->walk_program, m, p->ranks);
	p->dies = arena_new_array(p->arena, uint32_t, m->op.n);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		p->time[op] = cost_op_time(cost, op);
		p->issue[op] = cost_op_issue_of(cost, op);
		p->moved[op] = cost_op_bytes(cost, op);
	}
	for (value_id v = 1; v < m->value.n; v++) {
		struct local_shape s;
		bool input = m->value.at[v].flags & VALUE_INPUT;
		if ((input || is_owner(p, v)) && local_shape(m, v, &s) == EXPR_OK)
			p->held[v] = s.bytes;
	}
	find_deaths(p);
	return true;
}

void sim_program_close(struct sim_program *p)
{
	walk_program_close(&p->walk_program);
	vec_free(&p->known);
	vec_free(&p->dying);
	vec_free(&p->channel);
	free(p->local);
	hash_table_free(&p->channels);
	arena_free(p->arena);
}

bool sim_rank_is_on(const struct sim_program *p, mesh_id mesh, uint32_t rank)
{
	uint32_t position;
	return !mesh || mesh_position(&p->m->mesh.at[mesh], rank, &position);
}

int64_t sim_input_bytes(const struct sim_program *p, uint32_t input, uint32_t rank)
{
	value_id v = p->m->input.at[input].value;
	bool has = sim_rank_is_on(p, value_type(p->m, v)->mesh, rank) && module_has_input(p->m, input, rank);
	return has ? p->held[v] : 0;
}

/* ---- channels */

static uint64_t hash_channel(const struct sim_channel *x)
{
	uint64_t h = hash_number(hash_number(x->kind, x->backend), x->n);
	if (x->kind == SIM_CHANNEL_MESSAGES)
		return hash_block(h, x->ends, sizeof x->ends);
	return hash_block(h, x->device, sizeof *x->device * x->n);
}

static bool is_same_channel(const struct sim_channel *a, const struct sim_channel *b)
{
	if (a->kind != b->kind || a->backend != b->backend || a->n != b->n)
		return false;
	return a->kind == SIM_CHANNEL_MESSAGES ? a->ends[0] == b->ends[0] && a->ends[1] == b->ends[1]
	                                       : !memcmp(a->device, b->device, sizeof *a->device * a->n);
}

uint32_t sim_channel_find(struct sim_program *p, const struct sim_channel *key)
{
	struct hash_probe probe = {.hash = hash_channel(key)};
	for (uint32_t k; (k = hash_next(&p->channels, &probe));)
		if (is_same_channel(&p->channel.at[k - 1], key))
			return k - 1;
	vec_push(&p->channel, *key);
	hash_insert(&p->channels, probe.hash, p->channel.n);
	return p->channel.n - 1;
}

uint32_t sim_channel_of_team(struct sim_program *p, team_id team, enum sim_channel_kind kind, name_id backend,
                             uint32_t rank)
{
	struct membership me;
	if (!walk_membership(&p->walk_program, team, rank, &me))
		return SIM_NONE;
	struct sim_channel key = {.kind = kind, .backend = backend, .n = me.n, .device = me.device};
	while (p->known.n <= me.slice)
		vec_push(&p->known, 0);
	uint32_t *known = &p->known.at[me.slice];
	if (!*known || p->channel.at[*known - 1].kind != kind || p->channel.at[*known - 1].backend != backend)
		*known = sim_channel_find(p, &key) + 1;
	return *known - 1;
}

const char *sim_channel_name(const struct sim_program *p, const struct sim_channel *ch, struct arena *a)
{
	enum { MOST = 4 };
	struct buf text = {0};
	for (uint32_t i = 0; i < ch->n && i < MOST; i++)
		buf_printf(&text, "%s%u", i ? " " : "(", ch->device[i]);
	if (ch->n > MOST)
		buf_printf(&text, "%s %u", ch->n > MOST + 1 ? " …" : "", ch->device[ch->n - 1]);
	buf_putc(&text, ')');
	if (ch->backend)
		buf_printf(&text, " %s", names_text(p->m->names, ch->backend));
	const char *name = arena_strndup(a, text.at, text.n);
	buf_free(&text);
	return name;
}
