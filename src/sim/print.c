/* print: what a simulation found, for people. */
#include "base/vec.h"
#include "sim/sim.h"
#include <string.h>

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static double gib(int64_t bytes)
{
	return (double)bytes / (1 << 30);
}

static double percent(int64_t part, int64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

struct row { /* the collectives of one kind and lane */
	const char *kind, *lane;
	uint32_t count;
	int64_t bytes, time, exposed;
};

static const char *attr_name(struct module *m, op_id op, const char *key, const char *otherwise)
{
	const struct attr *a = op_attr(m, op, key);
	return a && a->kind == ATTR_NAME ? names_text(m->names, a->u.name) : otherwise;
}

static const char *lane_name(const struct sim *s, op_id op)
{
	return attr_name(s->m, op, "group", "ranks");
}

static const char *kind_name(const struct sim *s, op_id op)
{
	return attr_name(s->m, op, "kind", op_info[s->m->op.at[op].kind].hir);
}

typedef VEC(struct row) rows;

static struct row *row_of(const struct sim *s, rows *r, uint32_t node)
{
	op_id op = s->block.op[node];
	const char *kind = kind_name(s, op), *lane = lane_name(s, op);
	for (uint32_t i = 0; i < r->n; i++)
		if (!strcmp(r->at[i].kind, kind) && !strcmp(r->at[i].lane, lane))
			return &r->at[i];
	vec_push(r, ((struct row){.kind = kind, .lane = lane}));
	return &r->at[r->n - 1];
}

static void collect(const struct sim *s, rows *r)
{
	const struct sched_problem *p = &s->block.p;
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = s->order[k];
		if (p->node[x].kind == SCHED_COMM) {
			struct row *to = row_of(s, r, x);
			to->count++;
			to->bytes += p->node[x].in;
			to->time += p->node[x].time;
		} else if (p->node[x].comm != SCHED_NONE) {
			row_of(s, r, p->node[x].comm)->exposed += s->moment[k].stall;
		}
	}
}

static const char *resource_name(const struct sim *s, char *room, size_t size)
{
	static const char *const name[] = {[SCHED_BOUND_HOST] = "work of the host",
	                                   [SCHED_BOUND_PATH] = "the longest chain of statements",
	                                   [SCHED_BOUND_LANE] = "communication of",
	                                   [SCHED_BOUND_PACKING] = "communication in buckets of"};
	const struct sched_problem *p = &s->block.p;
	const char *lane = "";
	for (uint32_t x = 0; x < p->n && s->bound.resource >= SCHED_BOUND_LANE; x++)
		if (p->node[x].kind == SCHED_COMM && p->node[x].lane == s->bound.lane)
			lane = lane_name(s, s->block.op[x]);
	snprintf(room, size, "%s%s%s", name[s->bound.resource], *lane ? " " : "", lane);
	return room;
}

void sim_print(const struct sim *s, struct buf *out)
{
	const struct sched_result *r = &s->result;
	char room[128];
	rows row = {0};
	collect(s, &row);
	buf_printf(out, "step time    %12.3f ms\n", ms(r->runtime));
	buf_printf(out, "lower bound  %12.3f ms   %.2f %% below, by %s\n", ms(s->bound.runtime),
	           percent(r->runtime - s->bound.runtime, r->runtime), resource_name(s, room, sizeof room));
	buf_printf(out, "exposed      %12.3f ms   %.1f %% of the step\n", ms(r->exposed),
	           percent(r->exposed, r->runtime));
	buf_printf(out, "work         %12.3f ms   %.1f %%\n", ms(r->host), percent(r->host, r->runtime));
	buf_printf(out, "peak memory  %12.3f GiB\n", gib(r->peak));
	if (row.n)
		buf_printf(out, "\n%-16s %-8s %7s %12s %12s %12s %7s\n", "collective", "on", "count", "GiB",
		           "ms", "exposed ms", "busy");
	for (uint32_t i = 0; i < row.n; i++)
		buf_printf(out, "%-16s %-8s %7u %12.3f %12.3f %12.3f %6.1f%%\n", row.at[i].kind,
		           row.at[i].lane, row.at[i].count, gib(row.at[i].bytes), ms(row.at[i].time),
		           ms(row.at[i].exposed), percent(row.at[i].time, r->runtime));
	vec_free(&row);
}
