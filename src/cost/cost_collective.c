/* cost_collective: finds the time of collectives and messages, from a table or from the links. */
#include "cost/model.h"
#include <stdlib.h>

bool collective_kind(enum op_kind op, enum collective *out)
{
	if (op == OP_COLLECTIVE_PERMUTE) {
		*out = COLLECTIVE_SEND_RECV;
		return true;
	}
	return op_collective(op, out);
}

/* Returns true if one of the collective's buffers has a block for each rank. */
static bool has_blocks(enum collective kind)
{
	return collective_has_blocks(kind) && !collective_exchanges(kind);
}

static int64_t multiply_bytes(int64_t bytes, int64_t n)
{
	return bytes > LOCAL_MAX_BYTES / n ? LOCAL_MAX_BYTES : bytes * n;
}

int64_t collective_bytes(enum collective kind, int64_t ranks, int64_t in, int64_t out)
{
	int64_t large = in > out ? in : out, small = in > out ? out : in;
	if (!has_blocks(kind))
		return large;
	int64_t blocks = multiply_bytes(small, ranks);
	return blocks > large ? blocks : large;
}

/* ---- teams */

static bool wider(const struct links_team *a, const struct links_team *b)
{
	if (a->link != b->link)
		return a->link > b->link;
	if (a->ranks != b->ranks)
		return a->ranks > b->ranks;
	return a->levels < b->levels; /* uneven groups are one level */
}

static bool find_team(const struct module *m, const struct cluster *x, team_id team, struct links_team *out)
{
	const struct team *t = ir_team(m, team);
	struct links_team widest = {0}, one;
	for (uint32_t s = 0; s < t->slice_n; s++) {
		if (!links_team(x, t->device + t->start[s], t->start[s + 1] - t->start[s], &one))
			return false;
		if (!s || wider(&one, &widest))
			widest = one;
	}
	*out = widest;
	return true;
}

bool collective_team(const struct cost *c, team_id team, struct links_team *out)
{
	if (team >= c->team_n || !c->team[team].ranks)
		return find_team(c->m, c->cluster, team, out);
	*out = c->team[team];
	return true;
}

static int compare_table(const struct cluster_table *a, enum collective kind, int64_t ranks, int64_t span)
{
	if (a->collective != kind)
		return a->collective < kind ? -1 : 1;
	if (a->ranks != ranks)
		return a->ranks < ranks ? -1 : 1;
	return (a->span > span) - (a->span < span);
}

static int by_teams(const void *a, const void *b)
{
	const struct cluster_table *x = *(const struct cluster_table *const *)a,
	                           *y = *(const struct cluster_table *const *)b;
	return compare_table(x, y->collective, y->ranks, y->span);
}

void collective_prepare(struct cost *c)
{
	const struct cluster *x = c->cluster;
	c->table = arena_new_array(c->arena, const struct cluster_table *, x->network.table_n);
	for (uint32_t k = 0; k < x->network.table_n; k++)
		c->table[k] = &x->network.table[k];
	qsort(c->table, x->network.table_n, sizeof *c->table, by_teams);
	c->team = arena_new_array(c->arena, struct links_team, c->m->team.n);
	for (team_id t = 1; t < c->m->team.n; t++)
		if (!find_team(c->m, x, t, &c->team[t]))
			c->team[t].ranks = 0;
	c->team_n = c->m->team.n;
}

/* ---- times */

static const struct cluster_table *find_table(const struct cost *c, enum collective kind, int64_t ranks,
                                              int64_t span)
{
	uint32_t low = 0, high = c->cluster->network.table_n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = compare_table(c->table[middle], kind, ranks, span);
		if (!order)
			return c->table[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const struct cluster_table *table_of(const struct cost *c, enum collective kind,
                                            const struct links_team *t)
{
	int64_t span = c->cluster->network.link[t->link].span;
	const struct cluster_table *table = find_table(c, kind, t->ranks, span);
	return !table && kind == COLLECTIVE_ALL_TO_ALLV ? find_table(c, COLLECTIVE_ALL_TO_ALL, t->ranks, span)
	                                                : table;
}

bool collective_measured(const struct cost *c, enum collective kind, const struct links_team *t)
{
	return table_of(c, kind, t) != NULL;
}

/* Finds the table of a collective in a network whose tables are not sorted. */
static const struct cluster_table *table_in(const struct cluster_network *n, enum collective kind,
                                            const struct links_team *t)
{
	const struct cluster_table *of_equal_blocks = NULL;
	for (uint32_t k = 0; k < n->table_n; k++) {
		if (!compare_table(&n->table[k], kind, t->ranks, n->link[t->link].span))
			return &n->table[k];
		if (kind == COLLECTIVE_ALL_TO_ALLV &&
		    !compare_table(&n->table[k], COLLECTIVE_ALL_TO_ALL, t->ranks, n->link[t->link].span))
			of_equal_blocks = &n->table[k];
	}
	return of_equal_blocks;
}

/* Returns the time of a table's collective beside those of all ranks that share a device. */
static int64_t time_of_table(const struct cluster_table *table, const struct links_team *t, int64_t bytes)
{
	int64_t time = curve_time(&table->points, bytes), empty = curve_time(&table->points, 0);
	return time > empty ? curve_add(empty, links_share(t, time - empty)) : time;
}

bool collective_time_by(const struct cost *c, const struct cluster_network *n, enum collective kind,
                        team_id team, const struct links_team *t, int64_t bytes, int64_t *out)
{
	struct cluster x = *c->cluster;
	struct links_team by = *t;
	x.network = *n;
	if (team && !find_team(c->m, &x, team, &by))
		return false;
	if (!team) {
		int64_t span = c->cluster->network.link[t->link].span;
		for (by.link = 0; by.link < n->link_n && n->link[by.link].span < span;)
			by.link++;
		if (by.link == n->link_n)
			return false;
		by.levels = 1;
		by.level[0].link = by.link;
		by.level[0].members = by.ranks;
	}
	const struct cluster_table *table = table_in(n, kind, &by);
	if (table) {
		*out = time_of_table(table, &by, bytes);
		return true;
	}
	*out = links_time(&x, &by, kind, bytes);
	return true;
}

int64_t collective_time(const struct cost *c, enum collective kind, const struct links_team *t, int64_t bytes)
{
	if (t->ranks == 1 && kind != COLLECTIVE_BARRIER)
		return cost_touch_time(c, multiply_bytes(bytes, 2));
	const struct cluster_table *table = table_of(c, kind, t);
	return table ? time_of_table(table, t, bytes) : links_time(c->cluster, t, kind, bytes);
}

int64_t cost_collective_operand_time(const struct cost *c, enum op_kind collective, team_id team,
                                     int64_t bytes)
{
	enum collective kind;
	struct links_team t;
	if (!collective_kind(collective, &kind) || !collective_team(c, team, &t))
		return 0;
	bool grows = collective_in(kind) == PART_OWN;
	return collective_time(c, kind, &t, grows ? multiply_bytes(bytes, t.ranks) : bytes);
}

int64_t cost_message_time(const struct cost *c, uint32_t from, uint32_t to, int64_t bytes)
{
	struct links_team t;
	return links_team(c->cluster, (const uint32_t[]){from, to}, from == to ? 1 : 2, &t)
	           ? collective_time(c, COLLECTIVE_SEND_RECV, &t, bytes)
	           : 0;
}
