/* cost: makes the model of a program. */
#include "cost/cost.h"
#include "cost/model.h"
#include "ir/edit.h"
#include <assert.h>
#include <stdlib.h>

struct cost *cost_new(struct module *m, const struct cluster *cluster, struct diag *d)
{
	struct cost *c = mem_zalloc(sizeof *c);
	int64_t time, bytes;
	bool ok = true;
	*c = (struct cost){
	    .m = m, .machine = *cluster, .arena = arena_new(), .d = d, .streams = DEFAULT_STREAMS};
	c->machine.sharers = share_ranks(m, cluster);
	c->cluster = &c->machine;
	c->reported = arena_new_array(c->arena, bool, m->param.n);
	product_prepare(c);
	collective_prepare(c);
	extern_prepare(c);
	reach_prepare(c);
	for (op_id o = ir_walk_first(m); o; o = ir_walk(m, o))
		ok &= op_time(c, o, &time, &bytes);
	c->d = NULL;
	if (ok)
		return c;
	cost_free(c);
	return NULL;
}

void cost_free(struct cost *c)
{
	if (c)
		arena_free(c->arena);
	free(c);
}

void cost_set_streams(struct cost *c, int64_t streams)
{
	c->streams = streams;
}

const struct cluster *cost_cluster(const struct cost *c)
{
	return c->cluster;
}

int64_t cost_op_time(const struct cost *c, op_id op)
{
	int64_t time = 0, bytes;
	bool ok = op_time(c, op, &time, &bytes);
	assert(ok);
	(void)ok;
	return time;
}

int64_t cost_op_bytes(const struct cost *c, op_id op)
{
	int64_t time, bytes = 0;
	bool ok = op_time(c, op, &time, &bytes);
	assert(ok);
	(void)ok;
	return bytes;
}

bool cost_op_is_recorded(const struct cost *c, op_id op)
{
	return op_attr(c->m, op, "time") != NULL;
}

bool cost_is_launched(const struct module *m, op_id op)
{
	if (m->op.at[op].flags & OP_GROUPED)
		return false;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_FOR:
	case OP_IF:
	case OP_GET_CURRENT_STREAM:
	case OP_SET_CURRENT_STREAM:
	case OP_SHARE_MEM_HANDLES:
	case OP_START_COALESCING:
	case OP_DEALLOCATE:
		return false;
	case OP_ALLOCATE:
		return op_attr_is_true(m, op, "zero_init") || op_attr_is_true(m, op, "resets_to_zero");
	case OP_SYMMETRIC_VIEW:
		return true;
	default:
		return !(op_traits(m, op) & TRAIT_VIEW);
	}
}
