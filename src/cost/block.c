/* block: see block.h. */
#include "base/source.h"
#include "cost/block_maker.h"
#include "cost/local.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

static struct keys keys_of(struct names *names)
{
	return (struct keys){.kind = names_intern_z(names, "kind"),
	                     .time = names_intern_z(names, "time"),
	                     .group = names_intern_z(names, "group"),
	                     .bytes = names_intern_z(names, "bytes"),
	                     .in_bytes = names_intern_z(names, "in_bytes"),
	                     .scratch = names_intern_z(names, "scratch"),
	                     .storage = names_intern_z(names, "storage"),
	                     .writes = names_intern_z(names, "writes"),
	                     .op = names_intern_z(names, "op"),
	                     .peer = names_intern_z(names, "peer")};
}

/* ---- storages */

static void add_storage(struct maker *k, value_id v, struct sched_storage s)
{
	if (v)
		k->home[v] = k->storage.n + 1;
	vec_push(&k->storage, s);
	vec_push(&k->owner, v);
}

/* Adds a use of the storage of v by a node. */
static void add_use(struct maker *k, uint32_t node, value_id v)
{
	uint32_t home = k->home[k->root[v]];
	if (home)
		vec_push(&k->use, ((struct sched_pair){node, home - 1}));
}

static void keep(struct maker *k, value_id v)
{
	uint32_t home = k->home[k->root[v]];
	if (home)
		k->storage.at[home - 1].kept = true;
}

static void add_results(struct maker *k, op_id op, uint32_t node)
{
	struct module *m = k->m;
	const struct attr *bytes = maker_attr(k, op, k->key.bytes);
	bool resident = maker_name_is(k, op, k->key.kind, "input") ||
	                maker_name_is(k, op, k->key.kind, "attr") ||
	                maker_name_is(k, op, k->key.storage, "input");
	for (unsigned i = 0; i < m->op.at[op].def_n; i++) {
		value_id v = m->operand.at[m->op.at[op].operand + i].id, of = ir_view_of(m, op, i);
		k->root[v] = of ? k->root[of] : v;
		if (of)
			continue;
		int64_t n = bytes && bytes->kind == ATTR_INTS && i < bytes->n ? bytes->u.ints[i]
		            : bytes && bytes->kind == ATTR_INT && !i          ? bytes->u.i
		                                                              : block_bytes(m, v);
		add_storage(k, v, (struct sched_storage){n, resident ? SCHED_NONE : node, resident});
	}
	int64_t scratch = maker_int(k, op, k->key.scratch, k->inside[op]);
	if (scratch > 0) {
		add_storage(k, 0, (struct sched_storage){scratch, node, false});
		vec_push(&k->use, ((struct sched_pair){node, k->storage.n - 1}));
	}
}

/* ---- order */

static void add_edge(struct maker *k, uint32_t from, uint32_t to)
{
	if (from != to)
		vec_push(&k->edge, ((struct sched_pair){from, to}));
}

/* Adds the edges that keep a node after the last write of a buffer, and a write after all readers. */
static void touch_buffer(struct maker *k, uint32_t node, value_id root, bool writes)
{
	if (!k->written[root])
		return;
	if (k->last[root])
		add_edge(k, k->last[root] - 1, node);
	if (!writes) {
		vec_push(&k->readers, ((struct reader){node, k->since[root]}));
		k->since[root] = k->readers.n;
		return;
	}
	for (uint32_t r = k->since[root]; r; r = k->readers.at[r - 1].next)
		add_edge(k, k->readers.at[r - 1].node, node);
	k->since[root] = 0;
	k->last[root] = node + 1;
}

static bool writes_operand(const struct attr *writes, unsigned read)
{
	if (writes && writes->kind == ATTR_INT)
		return writes->u.i == read;
	for (uint32_t i = 0; writes && writes->kind == ATTR_INTS && i < writes->n; i++)
		if (writes->u.ints[i] == read)
			return true;
	return false;
}

/* Calls `each` with every tensor that a statement touches, except its results. */
static void each_touched(struct maker *k, op_id op, uint32_t node,
                         void (*each)(struct maker *, uint32_t node, value_id v, bool writes))
{
	const struct op *o = &k->m->op.at[op];
	const struct attr *writes = o->kind == OP_EXTERN ? maker_attr(k, op, k->key.writes) : NULL;
	for (unsigned i = 0, read = 0; i < o->operand_n; i++) {
		struct operand x = k->m->operand.at[o->operand + i];
		if (x.role == ROLE_READ)
			each(k, node, x.id, writes_operand(writes, read++));
		else if (x.role == ROLE_WRITE || x.role == ROLE_FREE)
			each(k, node, x.id, true);
		read += x.role == ROLE_SCALAR;
	}
}

static void mark_written(struct maker *k, uint32_t node, value_id v, bool writes)
{
	(void)node;
	if (writes)
		k->written[k->root[v]] = true;
}

static void need_value(struct maker *k, uint32_t node, value_id v, bool writes)
{
	op_id def = k->m->value.at[v].def;
	if (def && k->node[def])
		add_edge(k, k->node[def] - 1, node);
	touch_buffer(k, node, k->root[v], writes);
	add_use(k, node, v);
}

/* Returns the pack of a collective on a packed tensor; 0 if there is none. */
static op_id pack_of(const struct maker *k, op_id comm)
{
	value_id packed = comm ? op_read(k->m, comm, 0) : 0;
	op_id def = packed ? k->m->value.at[packed].def : 0;
	return def && k->m->op.at[def].kind == OP_PACK ? def : 0;
}

/* Adds the uses of a bucket: a wait keeps the packed tensor alive, and the collective keeps the tensors
 * that were packed. */
static void use_packed(struct maker *k, op_id op, uint32_t node)
{
	op_id waited = pack_of(k, block_waits_for(k->m, op));
	op_id packed = pack_of(k, op), sent = packed && block_is_communication(k->m, op) ? packed : 0;
	if (waited)
		add_use(k, node, op_result(k->m, waited, 0));
	for (unsigned i = 0; sent && i < k->m->op.at[sent].operand_n; i++)
		if (ir_operand(k->m, sent, i)->role == ROLE_READ)
			add_use(k, node, ir_operand(k->m, sent, i)->id);
}

/* Calls `each` for every transfer of a group: the Communications, and the sends and receives that a post
 * starts. */
static void each_of_group(struct maker *k, op_id end, uint32_t node,
                          void (*each)(struct maker *, uint32_t node, op_id comm))
{
	const struct module *m = k->m;
	for (op_id op = ir_coalesce_start(m, end); op && op != end; op = m->op.at[op].next) {
		if (m->op.at[op].flags & OP_GROUPED || op_traits(m, op) & TRAIT_P2P)
			each(k, node, op);
		for (unsigned i = 0; m->op.at[op].kind == OP_POST && i < op_role_count(m, op, ROLE_STATEMENT);
		     i++)
			each(k, node, op_operand_id(m, op, ROLE_STATEMENT, i));
	}
}

/* Calls `each` with the communication that a wait waits for; for a group, with each one that the group
 * started. */
static void each_waited(struct maker *k, op_id wait, uint32_t node,
                        void (*each)(struct maker *, uint32_t node, op_id comm))
{
	op_id comm = op_operand_id(k->m, wait, ROLE_STATEMENT, 0);
	if (k->m->op.at[comm].kind == OP_END_COALESCING)
		each_of_group(k, comm, node, each);
	else
		each(k, node, comm);
}

static void mark_received(struct maker *k, uint32_t node, op_id comm)
{
	(void)node;
	for (unsigned i = 0; i < op_result_count(k->m, comm); i++)
		k->written[k->root[op_result(k->m, comm, i)]] = true;
}

/* Adds edges from all nodes before a node that must not move, and to all nodes after it. */
static void keep_place(struct maker *k, op_id op, uint32_t node)
{
	if (k->barrier)
		add_edge(k, k->barrier - 1, node);
	if (!maker_keeps_its_place(k, op))
		return;
	for (uint32_t x = k->barrier; x < node; x++)
		add_edge(k, x, node);
	k->barrier = node + 1;
}

/* Adds the uses of a wait: the buffers of its Communication. Statements after the wait see the result. */
static void use_communication(struct maker *k, uint32_t node, op_id comm)
{
	const struct op *o = &k->m->op.at[comm];
	if (!k->node[comm])
		return;
	add_edge(k, k->node[comm] - 1, node);
	for (unsigned i = 0; i < o->operand_n; i++) {
		struct operand x = k->m->operand.at[o->operand + i];
		if (x.role == ROLE_READ || x.role == ROLE_DEF || x.role == ROLE_WRITE) {
			touch_buffer(k, node, k->root[x.id], x.role != ROLE_READ);
			add_use(k, node, x.id);
		}
	}
}

/* Adds the nodes that a statement needs and the storages that it touches, with those of the statements
 * inside it. */
static void add_needs(struct maker *k, op_id op, uint32_t node)
{
	k->node[op] = node + 1;
	each_touched(k, op, node, need_value);
	if (k->m->op.at[op].kind == OP_WAIT)
		each_waited(k, op, node, use_communication);
	for (region_id r = k->m->op.at[op].region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			add_needs(k, within, node);
}

static void add_node(struct maker *k, op_id op)
{
	struct module *m = k->m;
	uint32_t node = k->nodes.n;
	maker_push_node(k, op);
	vec_push(&k->op, op);
	keep_place(k, op, node);
	if (maker_name_is(k, op, k->key.kind, "output"))
		for (unsigned i = 0; i < m->op.at[op].operand_n; i++)
			if (ir_operand(m, op, i)->role == ROLE_READ)
				keep(k, ir_operand(m, op, i)->id);
	add_needs(k, op, node);
	use_packed(k, op, node);
	add_results(k, op, node);
	for (unsigned i = 0; i < m->op.at[op].def_n; i++) {
		value_id v = ir_operand(m, op, i)->id;
		touch_buffer(k, node, k->root[v], k->root[v] == v);
	}
}

static void count_wait(struct maker *k, op_id wait, bool here)
{
	uint8_t *n = &k->waits[op_operand_id(k->m, wait, ROLE_STATEMENT, 0)];
	*n = *n == MAKER_STARTED && here ? MAKER_WAITED : MAKER_OTHERWISE;
}

static void mark_statement(struct maker *k, op_id op, bool here)
{
	for (unsigned i = 0; i < k->m->op.at[op].def_n; i++) {
		value_id v = ir_operand(k->m, op, i)->id, of = ir_view_of(k->m, op, i);
		k->root[v] = of ? k->root[of] : v;
	}
	each_touched(k, op, 0, mark_written);
	if (here && !k->waits[op])
		k->waits[op] = MAKER_STARTED;
	if (k->m->op.at[op].kind == OP_WAIT) {
		each_waited(k, op, 0, mark_received);
		count_wait(k, op, here);
	}
	for (region_id r = k->m->op.at[op].region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			mark_statement(k, within, false);
}

/* Makes the problem from the nodes, edges and storages. Returns false after reporting that it is too
 * large. */
static bool finish_problem(struct maker *k, region_id region, struct arena *a)
{
	struct sched_problem *p = &k->out->p;
#define COPY(list, type) memcpy(arena_new_array(a, type, (list).n + 1), (list).at, sizeof(type) * (list).n)
	*p = (struct sched_problem){.launch = k->launch,
	                            .bytes_per_ns = k->bytes_per_ns,
	                            .copies = k->copies,
	                            .grouped = k->grouped,
	                            .n = k->nodes.n,
	                            .transfer_n = k->transfer.n,
	                            .storage_n = k->storage.n,
	                            .family_n = k->family.n,
	                            .lane_n = k->lane.n,
	                            .contention_n = k->contention.n};
	p->node = k->nodes.n ? COPY(k->nodes, struct sched_node) : NULL;
	vec_free(&k->nodes);
	p->transfer = k->transfer.n ? COPY(k->transfer, struct sched_transfer) : NULL;
	p->storage = k->storage.n ? COPY(k->storage, struct sched_storage) : NULL;
	vec_free(&k->storage);
	p->contention = k->contention.n ? COPY(k->contention, struct sched_contention) : NULL;
	p->family = k->family.n ? COPY(k->family, struct sched_family) : NULL;
	k->out->op = k->op.n ? COPY(k->op, op_id) : NULL;
	k->out->storage = k->owner.n ? COPY(k->owner, value_id) : NULL;
#undef COPY
	const char *excess = sched_problem_excess(p);
	if (excess) {
		diag_error(k->d, E_SIM_LIMIT, k->m->op.at[k->m->region.at[region].first].at,
		           "a block of statements cannot be scheduled: it has %s", excess);
		return false;
	}
	sched_problem_finish(p, a, k->edge.at, k->edge.n, k->use.at, k->use.n);
	return true;
}

/* Adds the memory that is in use all the time. */
static void add_outside(struct maker *k, region_id region, const struct block_frame *frame)
{
	const struct module *m = k->m;
	if (region != m->body)
		add_storage(k, 0, (struct sched_storage){frame->outside, SCHED_NONE, true});
	for (uint32_t i = 0; i < m->input.n && region == m->body; i++)
		add_storage(k, m->input.at[i].value,
		            (struct sched_storage){block_bytes(m, m->input.at[i].value), SCHED_NONE, true});
}

bool block_make(struct module *m, region_id region, const struct block_frame *frame, const struct cost *cost,
                struct diag *d, struct arena *a, struct block *out)
{
	struct maker k = {.m = m,
	                  .cost = cost,
	                  .d = d,
	                  .arena = a,
	                  .scratch = arena_new(),
	                  .out = out,
	                  .grouped = frame->buckets == BLOCK_GROUPED,
	                  .key = keys_of(m->names)};
	const struct attr *launch = attrs_find(m, m->recording.attrs, "launch"),
	                  *rate = attrs_find(m, m->recording.attrs, "memory_rate"),
	                  *contended = attrs_find(m, m->recording.attrs, "contended");
	k.inside = frame->inside;
	k.contended = contended && contended->u.i;
	k.recorded_launch = launch != NULL;
	k.launch = launch ? launch->u.i : cost_launch(cost);
	k.bytes_per_ns = (rate ? (double)rate->u.i : cost_memory_rate(cost)) / 1e9;
	k.node = arena_new_array(k.scratch, uint32_t, m->op.n);
	k.root = arena_new_array(k.scratch, value_id, m->value.n);
	k.home = arena_new_array(k.scratch, uint32_t, m->value.n);
	k.waits = arena_new_array(k.scratch, uint8_t, m->op.n);
	k.written = arena_new_array(k.scratch, bool, m->value.n);
	k.last = arena_new_array(k.scratch, uint32_t, m->value.n);
	k.since = arena_new_array(k.scratch, uint32_t, m->value.n);
	for (value_id v = 1; v < m->value.n; v++)
		k.root[v] = ir_root(m, v);
	k.streams = ir_sets_streams(m, m->body);
	region_each (m, op, region)
		mark_statement(&k, op, true);
	add_outside(&k, region, frame);
	region_each (m, op, region)
		if (!k.failed)
			add_node(&k, op);
	for (value_id v = 1; v < m->value.n; v++)
		if (m->value.at[v].flags & VALUE_OUTPUT)
			keep(&k, v);
	if (!k.failed && !finish_problem(&k, region, a))
		k.failed = true;
	vec_free(&k.readers);
	vec_free(&k.nodes);
	vec_free(&k.transfer);
	vec_free(&k.op);
	vec_free(&k.storage);
	vec_free(&k.owner);
	vec_free(&k.family);
	vec_free(&k.contention);
	vec_free(&k.family_key);
	vec_free(&k.family_like);
	vec_free(&k.edge);
	vec_free(&k.use);
	vec_free(&k.lane);
	arena_free(k.scratch);
	return !k.failed;
}
