/* block_node: finds the time and lane of a statement, and the statements that may share a bucket. */
#include "cost/block_maker.h"
#include "cost/local.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/ir_bucket.h"
#include <string.h>

/* The size on the rank that has the largest part. Values without a size were reported when the cost
 * model was made. */
int64_t block_bytes(const struct module *m, value_id v)
{
	struct local_shape shape;
	return local_shape(m, v, &shape) == EXPR_OK ? shape.bytes : 0;
}

static uint64_t family_key_of(const struct maker *k, op_id op, uint32_t lane)
{
	const struct attr *reduce = maker_attr(k, op, k->key.op);
	value_id v = op_result(k->m, op, 0);
	uint64_t how = reduce && reduce->kind == ATTR_NAME ? reduce->u.name : 0;
	bool bytes = k->grouped ||
	             k->m->op.at[op].kind == OP_ALLGATHER; /* they are moved as bytes, so dtypes may differ */
	if (k->grouped && k->m->op.at[op].kind != OP_EXTERN)
		how = 0; /* no bucket */
	return ((((uint64_t)lane * OP_KIND_COUNT + (uint64_t)block_collective(k->m, op)) * DTYPE_COUNT +
	         (bytes ? DTYPE_U8 : value_type(k->m, v)->dtype)) *
	            ((uint64_t)names_count(k->m->names) + 1) +
	        how);
}

/* Returns true if a recorded statement makes one result of one operand. */
static bool is_plain(const struct maker *k, op_id op)
{
	return op_result_count(k->m, op) == 1 && op_role_count(k->m, op, ROLE_READ) == 1 &&
	       !maker_name_is(k, op, k->key.storage, "input");
}

/* Returns true if one wait is the only user of a recorded collective's result, in the same block. */
static bool is_waited_for_once(const struct maker *k, op_id op)
{
	value_id v = op_result(k->m, op, 0);
	unsigned waits = 0;
	for (uint32_t u = k->m->value.at[v].first_use; u; u = k->m->operand.at[u].next_use) {
		const struct operand *x = &k->m->operand.at[u];
		if (x->role == ROLE_DEF)
			continue;
		if (!block_is_wait(k->m, x->op) || k->m->op.at[x->op].parent != k->m->op.at[op].parent ||
		    !is_plain(k, x->op) || maker_attr(k, x->op, k->key.writes))
			return false;
		waits++;
	}
	return waits == 1 && !(k->m->value.at[v].flags & VALUE_OUTPUT);
}

/* Returns the points of a group's table for a collective; NULL if there are none. */
static const struct attr *table_of(const struct maker *k, group_id group, enum op_kind collective)
{
	const struct attrs *l = &k->m->attrs.at[k->m->group.at[group].attrs];
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(names_text(k->m->names, l->at[i].key), op_info[collective].hir))
			return &l->at[i];
	return NULL;
}

static const enum op_kind bucketed[] = {OP_ALLGATHER, OP_REDUCE_SCATTER, OP_ALLREDUCE};
enum { BUCKETED = sizeof bucketed / sizeof *bucketed, LARGEST_POINT = 40 };

/* Returns the times of a collective by the size of its operand, from the group's table or from the
 * model. */
static struct sched_family points_of(struct maker *k, op_id op, group_id group)
{
	enum op_kind collective = block_collective(k->m, op);
	const struct attr *table = group ? table_of(k, group, collective) : NULL;
	bool unknown = group && !table && cost_op_is_recorded(k->cost, op);
	uint32_t n = table ? table->n / 2 : unknown ? 0 : LARGEST_POINT;
	struct sched_point *point = arena_new_array(k->arena, struct sched_point, n);
	for (uint32_t i = 0; i < n; i++) {
		int64_t bytes = table ? table->u.ints[2 * i] : (int64_t)1 << i;
		int64_t time =
		    table   ? table->u.ints[2 * i + 1]
		    : group ? cost_group_operand_time(k->cost, collective, group, bytes)
		            : cost_collective_operand_time(k->cost, collective, k->m->op.at[op].team, bytes);
		point[i] = (struct sched_point){(double)bytes, (double)time};
	}
	return (struct sched_family){.point = point, .n = n};
}

/* Returns the bytes of the operands with this role. */
static int64_t bytes_of(const struct maker *k, op_id op, enum role role)
{
	const struct op *o = &k->m->op.at[op];
	int64_t n = 0;
	for (unsigned i = 0; i < o->operand_n; i++)
		if (k->m->operand.at[o->operand + i].role == role)
			n += block_bytes(k->m, k->m->operand.at[o->operand + i].id);
	return n;
}

/* Returns true if a recorded collective has one operand and makes its own result, both of them whole
 * buffers. They must be whole since the packed tensor has no mesh. */
static bool has_own_buffers(const struct maker *k, op_id op)
{
	int64_t in = bytes_of(k, op, ROLE_READ);
	return maker_int(k, op, k->key.in_bytes, in) == in && !maker_attr(k, op, k->key.writes) &&
	       !ir_view_of(k->m, op, 0) && !value_type(k->m, op_read(k->m, op, 0))->mesh &&
	       !value_type(k->m, op_result(k->m, op, 0))->mesh;
}

static uint32_t find_family(struct maker *k, op_id op, group_id group, uint32_t lane)
{
	enum op_kind collective = block_collective(k->m, op);
	unsigned which = 0;
	while (which < BUCKETED && bucketed[which] != collective)
		which++;
	if (which == BUCKETED || k->m->op.at[op].kind == OP_END_COALESCING || !is_plain(k, op) ||
	    (group ? !is_waited_for_once(k, op) || (!k->grouped && !has_own_buffers(k, op))
	           : k->waits[op] != MAKER_WAITED || (!k->grouped && ir_bucket_refusal(k->m, op))))
		return SCHED_NONE;
	uint64_t key = family_key_of(k, op, lane), like = group || k->grouped ? 0 : ir_bucket_key(k->m, op);
	for (uint32_t f = 0; f < k->family.n; f++)
		if (k->family_key.at[f] == key && k->family_like.at[f] == like)
			return f;
	struct sched_family made = points_of(k, op, group);
	if (!made.n)
		return SCHED_NONE;
	made.lane = lane;
	made.collective = (enum sched_collective)which;
	k->copies |= !group;
	vec_push(&k->family, made);
	vec_push(&k->family_key, key);
	vec_push(&k->family_like, like);
	return k->family.n - 1;
}

static uint32_t find_lane(struct maker *k, op_id op, uint64_t communicator)
{
	uint32_t lane = 0;
	while (lane < k->lane.n && k->lane.at[lane] != communicator)
		lane++;
	if (lane == SCHED_MAX_LANES) {
		diag_error(k->d, E_SIM_LIMIT, k->m->op.at[op].at, "a program has at most %d communicators",
		           SCHED_MAX_LANES);
		k->failed = true;
		return 0;
	}
	if (lane == k->lane.n)
		vec_push(&k->lane, communicator);
	return lane;
}

static group_id find_group(struct maker *k, op_id op)
{
	const struct attr *a = maker_attr(k, op, k->key.group);
	for (group_id g = 1; a && a->kind == ATTR_NAME && g < k->m->group.n; g++)
		if (k->m->group.at[g].name == a->u.name)
			return g;
	if (block_is_message_in_flight(k->m, op))
		diag_error(k->d, E_COLLECTIVE_GROUP, k->m->op.at[op].at,
		           "the group of this message is not declared: declare it, as in `group g0(8)`");
	else
		diag_error(k->d, E_COLLECTIVE_GROUP, k->m->op.at[op].at,
		           "this collective has no group: state it, as in `{kind=%s, group=g0}`",
		           op_info[block_collective(k->m, op)].hir);
	k->failed = true;
	return 0;
}

/* Adds the operands and results of a collective, or of the members of a group. */
static void add_buffers(const struct maker *k, op_id op, struct sched_transfer *to)
{
	if (k->m->op.at[op].kind == OP_END_COALESCING) {
		coalesce_each (k->m, member, op)
			add_buffers(k, member, to);
		return;
	}
	to->in += maker_int(k, op, k->key.in_bytes, bytes_of(k, op, ROLE_READ));
	to->out += bytes_of(k, op, ROLE_DEF) + bytes_of(k, op, ROLE_WRITE);
}

/* Returns the number of the communication's rule of contention. */
static uint8_t find_contention(struct maker *k, op_id op)
{
	static const struct sched_contention none = {SCHED_ALONE, SCHED_ALONE, 0};
	struct sched_contention new = cost_contention(k->cost, op, true);
	if (!sched_contends(&new) || (k->contended && k->m->op.at[op].kind == OP_EXTERN))
		return 0;
	if (!k->contention.n)
		vec_push(&k->contention, none);
	for (uint32_t i = 0; i < k->contention.n; i++)
		if (sched_contention_is(&k->contention.at[i], &new))
			return (uint8_t)i;
	vec_push(&k->contention, new);
	return (uint8_t)(k->contention.n - 1);
}

/* Returns the key of a recorded communication's lane. Messages to one peer, or from one, run one after the other. */
static uint64_t recorded_lane(const struct maker *k, op_id op, group_id group)
{
	enum { SENDS = 1, RECEIVES };
	if (!block_is_message_in_flight(k->m, op))
		return group;
	uint64_t way = maker_name_is(k, op, k->key.kind, "send") ? SENDS : RECEIVES;
	uint64_t peer = (uint64_t)maker_int(k, op, k->key.peer, -1) + 1;
	return way << 61 | (peer & 0x1fffffff) << 32 | group;
}

static void make_communication(struct maker *k, op_id op, struct sched_node *n)
{
	bool group_end = k->m->op.at[op].kind == OP_END_COALESCING;
	op_id one = group_end ? ir_coalesce_first(k->m, op) : op;
	bool recorded = k->m->op.at[op].kind == OP_EXTERN;
	group_id group = recorded ? find_group(k, op) : 0;
	uint64_t communicator =
	    recorded ? recorded_lane(k, op, group)
	             : (uint64_t)1 << 63 | (uint64_t)op_backend(k->m, one) << 32 | k->m->op.at[one].team;
	n->kind = SCHED_COMM;
	n->lane = (uint8_t)find_lane(k, op, communicator);
	n->contention = find_contention(k, op);
	n->transfer = k->transfer.n;
	struct sched_transfer moved = {.family = SCHED_NONE};
	add_buffers(k, op, &moved);
	if (!k->failed)
		moved.family = find_family(k, op, group, n->lane);
	vec_push(&k->transfer, moved);
}

/* Returns the number of a loop's iterations; 1 if it depends on the rank. */
static int64_t trips_of(const struct maker *k, op_id op)
{
	const struct expr_env env = {.rank = 0};
	int64_t start, stop;
	if (k->m->op.at[op].kind != OP_FOR ||
	    expr_eval(k->m, op_scalar_expr(k->m, op, 0), &env, &start, NULL) != EXPR_OK ||
	    expr_eval(k->m, op_scalar_expr(k->m, op, 1), &env, &stop, NULL) != EXPR_OK)
		return 1;
	return stop > start ? stop - start : 0;
}

static int64_t launch_of(const struct maker *k, op_id op)
{
	if (k->recorded_launch)
		return cost_is_launched(k->m, op) ? k->launch : 0;
	return cost_op_issue(k->cost, op);
}

static int64_t time_of(const struct maker *k, op_id op)
{
	int64_t time = cost_op_time(k->cost, op);
	bool pack = k->m->op.at[op].kind == OP_PACK;
	if (pack || k->m->op.at[op].kind == OP_UNPACK) {
		struct sched_problem p = {.bytes_per_ns = k->bytes_per_ns};
		int64_t results = bytes_of(k, op, ROLE_DEF) + bytes_of(k, op, ROLE_WRITE);
		return sched_copy_time(&p, pack ? bytes_of(k, op, ROLE_READ) : results);
	}
	for (region_id r = k->m->op.at[op].region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			time += (time_of(k, within) + launch_of(k, within)) * trips_of(k, op);
	return time;
}

bool maker_keeps_its_place(const struct maker *k, op_id op)
{
	const struct op *o = &k->m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	if (o->kind == OP_EXTERN &&
	    (maker_name_is(k, op, k->key.kind, "send") || maker_name_is(k, op, k->key.kind, "recv") ||
	     maker_name_is(k, op, k->key.kind, "barrier")))
		return true;
	if (k->streams &&
	    (o->flags & OP_ASYNC || o->kind == OP_WAIT)) /* they may order work of several streams */
		return true;
	if (o->kind == OP_DISPATCH || o->kind == OP_COMBINE || o->kind == OP_SYMMETRIC_VIEW ||
	    info->traits & (TRAIT_P2P | TRAIT_ASYNC))
		return true;
	if (o->kind == OP_WAIT)
		return !k->node[op_operand_id(k->m, op, ROLE_STATEMENT, 0)];
	for (region_id r = o->region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			if (block_is_communication(k->m, within) || maker_keeps_its_place(k, within))
				return true;
	return info->form == FORM_HOST && !(info->traits & TRAIT_MEMORY);
}

void maker_push_node(struct maker *k, op_id op)
{
	struct sched_node n = {.comm = SCHED_NONE};
	n.time = time_of(k, op) + launch_of(k, op) - k->launch;
	if (block_is_communication(k->m, op)) {
		make_communication(k, op, &n);
	} else if (block_is_wait(k->m, op)) {
		op_id comm = block_waits_for(k->m, op);
		n.kind = SCHED_WAIT;
		if (comm && k->node[comm] && k->nodes.at[k->node[comm] - 1].kind == SCHED_COMM)
			n.comm = k->node[comm] - 1; /* otherwise it is in a loop or condition */
	}
	vec_push(&k->nodes, n);
}
