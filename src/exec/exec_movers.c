/* exec_movers: see exec_movers.h.
 *
 *     --mover=auto, nccl                                   mover
 *     Y <- allreduce(T), 4 KiB of f32                      symmetric: 4096 bytes
 *     G <- allgather(X), blocks of 16 MiB                  zero-cta: blocks of 16777216 bytes
 *     in a loop over streams, at the place of a stream     transport: not symmetric: its size or place varies
 *
 * A window shows the same place of all members' memory. The places are in the plans of the ranks, so ranks exchange a hash of
 * mover, place and count of each statement; where the members differ, the transport moves the data as usual. A run with
 * recorded calls of NCCL has one rank alone, and takes the others' places to be its own. */
#include "exec/exec_movers.h"
#include "base/hash.h"
#include "exec/exec_device.h"
#include <stdlib.h>

/* ---- the collective of an instruction */

static bool varies_any(const struct exec *e, const plan_reg *reg, uint32_t n)
{
	bool any = false;
	for (uint32_t k = 0; reg && k < n; k++)
		any |= e->p->varies[reg[k]];
	return any;
}

/* Returns the bytes of the largest block, or of the whole; -1: they vary. */
static int64_t find_bytes(const struct exec *e, const struct plan_collective *c)
{
	int64_t most = e->reg[c->count];
	if (c->is_late || e->p->varies[c->count] || varies_any(e, c->counts, c->members))
		return -1;
	for (uint32_t k = 0; c->counts && k < c->members; k++)
		most = k == 0 || e->reg[c->counts[k]] > most ? e->reg[c->counts[k]] : most;
	return most * (int64_t)dtype_bytes((enum dtype)c->dtype);
}

/* Returns true if all blocks have one size and follow each other. */
static bool is_even(const struct collective_record *r, uint32_t members)
{
	bool even = true;
	for (uint32_t k = 0; r->list[0] && k < members; k++)
		even &= r->list[0][k] == r->list[0][0] && r->list[1][k] == r->list[0][0] * k;
	return even;
}

static struct mover_case case_of(struct exec *e, uint32_t k, const struct exec_options *o)
{
	const struct plan_collective *c = &e->p->collective.at[k];
	struct collective_record *r = &e->collective[k];
	bool placed = r->fixed && exec_collective_build(e, k);
	r->complete &= placed;
	return (struct mover_case){.kind = (enum collective)c->kind,
	                           .op = (enum reduce_op)c->reduce,
	                           .dtype = (enum dtype)c->dtype,
	                           .transport = e->transport->ops->kind,
	                           .members = (int)e->p->team.at[c->team].n,
	                           .bytes = find_bytes(e, c),
	                           .placed = placed,
	                           .even = is_even(r, c->members),
	                           .exact = o->exact_reductions,
	                           .able = e->able};
}

/* ---- choices */

static void choose_all(struct exec *e, const struct exec_options *o)
{
	for (uint32_t k = 0; k < e->p->code.n; k++) {
		const struct plan_instruction *i = &e->p->code.at[k];
		if (i->code != PLAN_COLLECTIVE)
			continue;
		const struct mover_case x = case_of(e, i->a, o);
		struct buf why = {0};
		enum mover m = mover_choose(o->mover, &x, &why);
		e->collective[i->a].c.mover = (uint8_t)m;
		vec_push(&e->mover,
		         (struct exec_mover){.statement = i->statement, .mover = m, .why = why.at});
	}
}

/* Gives up a mover that needs a window. */
static void give_up(struct exec_mover *x, struct rt_collective *c, const char *why)
{
	struct buf text = {0};
	buf_printf(&text, "not %s: %s", mover_name(x->mover), why);
	free(x->why);
	x->why = text.at;
	x->mover = MOVER_TRANSPORT;
	c->mover = MOVER_TRANSPORT;
}

typedef const char *obstacle_of(const struct exec *e, const struct collective_record *r, op_id statement,
                                const void *data);

/* Gives up each mover with a window that meets an obstacle. */
static void give_up_some(struct exec *e, obstacle_of *obstacle, const void *data)
{
	uint32_t next = 0;
	for (uint32_t k = 0; k < e->p->code.n; k++) {
		const struct plan_instruction *i = &e->p->code.at[k];
		if (i->code != PLAN_COLLECTIVE)
			continue;
		struct exec_mover *x = &e->mover.at[next++];
		struct collective_record *r = &e->collective[i->a];
		const char *why = mover_needs_window(x->mover) ? obstacle(e, r, i->statement, data) : NULL;
		if (why)
			give_up(x, &r->c, why);
	}
}

/* ---- the same places on all members */

static uint64_t hash_place(const struct exec *e, uint64_t h, const void *at)
{
	return hash_number(h, (uint64_t)((const char *)at - e->memory));
}

/* Returns a hash of mover, team, count and places. The own block within the larger buffer, where it is in place, is at
 * another place on each member; only that member uses it. */
static uint64_t hash_collective(const struct exec *e, uint64_t h, const struct rt_collective *c)
{
	int index = e->transport->team[c->team].index;
	int64_t size = (int64_t)dtype_bytes(c->dtype);
	bool gathers = collective_in(c->kind) == PART_OWN, scatters = collective_out(c->kind) == PART_OWN;
	const char *large = gathers ? c->out : c->in, *small = gathers ? c->in : c->out;
	bool in_place = (gathers || scatters) && small == large + rt_collective_block(c, index).offset * size;
	h = hash_number(hash_number(h, (uint64_t)c->mover + 1), (uint64_t)c->team);
	h = hash_number(h, (uint64_t)rt_collective_block(c, 0).count);
	h = hash_place(e, h, large);
	return in_place ? hash_number(h, UINT64_MAX) : hash_place(e, h, small);
}

struct hashes {
	uint64_t *all; /* rank by rank, by statement */
};

static const char *differs_among_members(const struct exec *e, const struct collective_record *r,
                                         op_id statement, const void *data)
{
	const struct hashes *h = data;
	const struct rt_team *team = &e->transport->team[r->c.team];
	uint64_t own = h->all[(size_t)e->job->rank * e->statements + statement];
	for (int k = 0; k < team->n; k++)
		if (h->all[(size_t)team->rank[k] * e->statements + statement] != own)
			return "ranks have its data at different places";
	return NULL;
}

static enum status compare_places(struct exec *e)
{
	uint64_t *own = mem_zalloc(sizeof *own * e->statements);
	struct hashes h = {mem_alloc(sizeof *own * e->statements * (size_t)e->job->size)};
	for (uint32_t k = 0; k < e->p->code.n; k++) {
		const struct plan_instruction *i = &e->p->code.at[k];
		if (i->code == PLAN_COLLECTIVE && mover_needs_window(e->collective[i->a].c.mover))
			own[i->statement] = hash_collective(e, own[i->statement], &e->collective[i->a].c);
	}
	enum status status =
	    rt_job_allgather(e->job, "the places of data", own, sizeof *own * e->statements, h.all);
	if (status == STATUS_OK)
		give_up_some(e, differs_among_members, &h);
	free(h.all);
	free(own);
	return status;
}

/* ---- windows */

static const char *has_no_window(const struct exec *e, const struct collective_record *r, op_id statement,
                                 const void *data)
{
	const unsigned *set = data;
	(void)e, (void)statement;
	return set[r->c.team] & 1u << r->c.mover ? NULL : "NCCL has no window for this team";
}

static enum status open_windows(struct exec *e)
{
	unsigned *set = mem_zalloc(sizeof *set * ((size_t)e->transport->teams + 1));
	for (uint32_t k = 0; k < e->p->collective.n; k++) {
		const struct rt_collective *c = &e->collective[k].c;
		set[c->team] |= (unsigned)mover_needs_window(c->mover) << c->mover;
	}
	enum status status = exec_device_windows(e->transport, set);
	if (status == STATUS_OK)
		give_up_some(e, has_no_window, set);
	free(set);
	return status;
}

enum status exec_movers_choose(struct exec *e, const struct exec_options *o)
{
	if (o->mover == MOVER_TRANSPORT)
		return STATUS_OK;
	choose_all(e, o);
	enum status status = compare_places(e);
	return status == STATUS_OK ? open_windows(e) : status;
}

/* ---- the result */

void exec_movers_put_comments(const struct exec *e, struct buf *out)
{
	for (uint32_t k = 0; k < e->mover.n; k++) {
		const struct exec_mover *x = &e->mover.at[k];
		buf_printf(out, "# mover %s of ", mover_name(x->mover));
		rt_board_label(e->job->board, e->job->rank, e->label[x->statement], out);
		buf_printf(out, ": %s\n", x->why);
	}
}

bool exec_put_movers(const struct exec *e, enum table_format format, struct buf *out)
{
	static const struct table_column column[] = {{.name = "mover", .width = 14, .left = true},
	                                             {.name = "statement", .left = true},
	                                             {.name = "reason", .left = true}};
	if (!e->mover.n)
		return false;
	struct table t = table_open(format, column, sizeof column / sizeof *column);
	for (uint32_t k = 0; k < e->mover.n; k++) {
		const struct exec_mover *x = &e->mover.at[k];
		struct buf statement = {0};
		rt_board_label(e->job->board, e->job->rank, e->label[x->statement], &statement);
		table_add_text(&t, mover_name(x->mover));
		table_add_text(&t, statement.at);
		table_add_text(&t, x->why);
		buf_free(&statement);
	}
	t.indent = 2;
	table_put(&t, out);
	table_close(&t);
	return true;
}

void exec_movers_free(struct exec *e)
{
	for (uint32_t k = 0; k < e->mover.n; k++)
		free(e->mover.at[k].why);
	vec_free(&e->mover);
}
