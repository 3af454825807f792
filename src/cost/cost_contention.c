/* cost_contention: finds how a communication and work beside it slow each other, from the figures of the
 * cluster for its collective and for the widest link that it uses. Messages are send_recv; a dispatch or
 * combine is an all_to_allv; a communication that has no figures of its own has those of a barrier. */
#include "cost/block.h"
#include "cost/model.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include <assert.h>

static_assert((int)CLUSTER_MAX_LINKS <= (int)SCHED_MAX_LINKS, "each link may be shared");

static struct cluster_contention find_contention(const struct cluster_network *n, enum collective kind,
                                                 bool stated)
{
	static const struct cluster_contention none = {SCHED_ALONE, SCHED_ALONE};
	struct cluster_contention all = {n->compute_per_mille, n->comm_per_mille};
	return n->contention[kind].compute ? n->contention[kind] : stated ? none : all;
}

/* Finds the collective and the link of a communication. Returns false if its link is not known. */
static bool find_kind_and_link(const struct cost *c, op_id op, enum collective *kind, struct links_team *t)
{
	enum op_kind which = (enum op_kind)c->m->op.at[op].kind;
	struct extern_parts parts;
	team_id team;
	int64_t bytes;
	*kind = COLLECTIVE_BARRIER;
	if (which == OP_END_COALESCING)
		return find_kind_and_link(c, ir_coalesce_first(c->m, op), kind, t);
	if (collective_kind(which, kind))
		return collective_team(c, c->m->op.at[op].team, t);
	if (op_info[which].traits & TRAIT_P2P) {
		*kind = COLLECTIVE_SEND_RECV;
		return message_team(c, op, t);
	}
	if (which == OP_DISPATCH || which == OP_COMBINE) {
		*kind = COLLECTIVE_ALL_TO_ALLV;
		return experts_parts(c, op, t, &team, &bytes);
	}
	if (which != OP_EXTERN || !extern_parts(c, op, &parts)) {
		*kind = block_is_message_in_flight(c->m, op) ? COLLECTIVE_SEND_RECV : *kind;
		return false;
	}
	*kind = parts.kind;
	*t = parts.team;
	return parts.joined;
}

struct sched_contention cost_contention(const struct cost *c, op_id op, bool stated)
{
	const struct cluster_network *n = &c->cluster->network;
	enum collective kind;
	struct links_team t;
	bool joined = find_kind_and_link(c, op, &kind, &t);
	struct cluster_contention x = find_contention(n, kind, stated);
	return (struct sched_contention){x.compute, x.comm,
	                                 joined && n->link[t.link].shared ? t.link + 1 : 0};
}

bool cost_contends(const struct cost *c)
{
	const struct cluster_network *n = &c->cluster->network;
	for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
		struct cluster_contention x = find_contention(n, (enum collective)k, false);
		if (x.compute != SCHED_ALONE || x.comm != SCHED_ALONE)
			return true;
	}
	for (uint32_t k = 0; k < n->link_n; k++)
		if (n->link[k].shared)
			return true;
	return false;
}
