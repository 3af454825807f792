/* ipc_team: collectives of a team, and the steps at which a member waits for others.
 *
 * In each turn, each member posts its data for a collective. When all have posted, each moves its part to its
 * own memory, on its own stream. A member waits at a step if:
 *
 *     ROOM     it is IPC_TURNS ahead of another: its post would overwrite one that is still read
 *     POSTED   not all have posted
 *     HALF     Allreduce, not staged: not all have issued the first half
 *     MOVED    not staged: a member that reads from this one has not issued its copy
 *
 * turns[m] counts the turns that member m has posted, half issued, and issued.
 *
 * Small data are staged: first copied to a place where they remain for IPC_TURNS turns. So the member does
 * not wait for the readers. The turn that uses the place again waits for them; it has passed ROOM by then. */
#include "cuda/ipc.h"

enum { STEP_ROOM, STEP_POSTED, STEP_HALF, STEP_MOVED, LINE = 64 };

struct ipc_turns {
	_Alignas(LINE) _Atomic uint32_t posted;
	_Atomic uint32_t half, moved;
};

/* The collective of a member, as it posts it. Each list has one entry for each member. */
struct post {
	enum collective kind;
	enum dtype dtype;
	enum reduce_op op;
	int root;
	uint32_t label;
	int64_t count;
	struct ipc_place in, out;
	int64_t list[]; /* counts, offsets, and the same of the blocks it sends */
};

static size_t post_bytes(int n)
{
	return (sizeof(struct post) + 4 * (size_t)n * sizeof(int64_t) + LINE - 1) / LINE * LINE;
}

enum status ipc_team_open(struct ipc *t, int id)
{
	const struct rt_team *team = &t->base.base.team[id];
	size_t n = (size_t)team->n, turns = n * sizeof(struct ipc_turns);
	char *memory = NULL;
	enum status status = STATUS_OK;
	t->team = mem_realloc(t->team, (size_t)(id + 1) * sizeof *t->team);
	struct ipc_team *own = &t->team[id];
	*own = (struct ipc_team){.semaphores = t->semaphores_used};
	t->semaphores_used += n > 1 ? (uint32_t)n * IPC_SIGNALS : 0;
	if (n > 1 && t->stages_used < IPC_STAGES)
		own->stage = IPC_WORD_BYTES + (uint64_t)t->stages_used++ * IPC_TURNS * IPC_STAGED_BYTES;
	ipc_team_settle(t, id);
	if (t->semaphores_used > ipc_graph_room(t, 0)) {
		rt_job_error(t->base.base.job,
		             "transport %s has semaphores for %d members of all teams together; "
		             "--transport=%s takes any number of teams",
		             transport_kind_name(TRANSPORT_CUDA_IPC),
		             (int)(ipc_graph_room(t, 0) - ipc_message_semaphores(t->base.base.job->size)) /
		                 IPC_SIGNALS,
		             transport_kind_name(TRANSPORT_NCCL));
		return rt_job_fail(t->base.base.job, STATUS_ABSENT);
	}
	if (n > 1)
		status = ipc_share(t, turns + IPC_TURNS * n * post_bytes(team->n), &memory);
	if (status != STATUS_OK || team->index < 0)
		return status;
	if (n > 1) {
		own->turns = (struct ipc_turns *)memory;
		own->posts = memory + turns;
		status = cuda_stream_new(t->base.c, &own->offers);
	}
	return status == STATUS_OK ? cuda_stream_new(t->base.c, &own->moves) : status;
}

void ipc_team_settle(struct ipc *t, int id)
{
	for (int k = 0; k < IPC_TURNS; k++)
		t->team[id].staged[k].kind = COLLECTIVE_BARRIER;
}

static struct post *post_of(const struct ipc_team *own, int n, int member, uint32_t turn)
{
	return (struct post *)(own->posts +
	                       ((size_t)(turn % IPC_TURNS) * (size_t)n + (size_t)member) * post_bytes(n));
}

/* ---- semaphores */

static uint32_t semaphore(const struct ipc *t, int id, int other, enum ipc_signal which)
{
	return t->team[id].semaphores + (uint32_t)other * IPC_SIGNALS + which;
}

enum status ipc_team_await(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which, uint32_t turn)
{
	return ipc_await(t, s, semaphore(t, id, other, which), turn + 1);
}

enum status ipc_team_signal(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which,
                            uint32_t turn)
{
	const struct rt_team *team = &t->base.base.team[id];
	return ipc_signal(t, s, team->rank[other], semaphore(t, id, team->index, which), turn + 1);
}

/* ---- points that all members have reached */

static bool has_come(const _Atomic uint32_t *count, uint32_t turns)
{
	return (int32_t)(atomic_load_explicit(count, memory_order_acquire) - turns) >= 0;
}

static bool there_is_room(const struct ipc_team *own, int n, uint32_t turn)
{
	bool room = true;
	for (int m = 0; m < n; m++)
		room = room && has_come(&own->turns[m].moved, turn + 1 - IPC_TURNS);
	return room;
}

static bool all_posted(const struct ipc_team *own, int n, uint32_t turn)
{
	bool all = true;
	for (int m = 0; m < n; m++)
		all = all && has_come(&own->turns[m].posted, turn + 1);
	return all;
}

static bool all_have_half(const struct ipc_team *own, int n, uint32_t turn)
{
	bool all = true;
	for (int m = 0; m < n; m++)
		all = all && has_come(&own->turns[m].half, turn + 1);
	return all;
}

static bool all_have_read(const struct ipc_team *own, const struct rt_team *team, const struct rt_request *r)
{
	bool all = true;
	for (int m = 0; m < team->n; m++)
		if (m != team->index && ipc_reads(&r->c, m, team->index))
			all = all && has_come(&own->turns[m].moved, r->turn + 1);
	return all;
}

static void wake_all(struct ipc *t, const struct rt_team *team)
{
	for (int m = 0; m < team->n; m++)
		if (m != team->index)
			ipc_wake(t, team->rank[m]);
}

static void publish_turn(struct ipc *t, const struct rt_team *team, _Atomic uint32_t *count, uint32_t turn)
{
	atomic_store_explicit(count, turn + 1, memory_order_release);
	wake_all(t, team);
}

/* ---- posts */

static void put_lists(const struct rt_collective *c, int n, int64_t *list)
{
	if (!collective_has_blocks(c->kind))
		return;
	for (int k = 0; k < n; k++) {
		struct rt_block b = rt_collective_block(c, k), sent = rt_collective_send_block(c, k);
		list[k] = b.count;
		list[n + k] = b.offset;
		list[2 * n + k] = sent.count;
		list[3 * n + k] = sent.offset;
	}
}

bool ipc_is_staged(const struct ipc *t, const struct rt_collective *c)
{
	const struct rt_team *team = &t->base.base.team[c->team];
	return t->team[c->team].stage && ipc_bytes_given(c, team->n, team->index) <= IPC_STAGED_BYTES;
}

/* Copies this member's data to a turn's place in the stage, once its stream knows that the place is free. */
static enum status use_stage(struct ipc *t, const struct rt_request *r, struct ipc_place *out)
{
	const struct rt_team *team = &t->base.base.team[r->c.team];
	struct ipc_team *own = &t->team[r->c.team];
	struct rt_collective *last = &own->staged[r->turn % IPC_TURNS];
	bool staged = ipc_is_staged(t, &r->c);
	int64_t bytes = ipc_bytes_given(&r->c, team->n, team->index);
	enum status status = STATUS_OK;
	for (int m = 0; m < team->n && status == STATUS_OK; m++)
		if (m != team->index && ipc_gives(last, m, team->index))
			status = ipc_team_await(t, r->c.team, own->offers, m, IPC_OVER, r->turn - IPC_TURNS);
	*last = (struct rt_collective){.kind = staged ? r->c.kind : COLLECTIVE_BARRIER, .root = r->c.root};
	return status == STATUS_OK && staged ? ipc_stage(t, own->offers, r->c.in, bytes,
	                                                 ipc_word(t->capture.set, 0) + own->stage +
	                                                     r->turn % IPC_TURNS * IPC_STAGED_BYTES,
	                                                 out)
	                                     : status;
}

static enum status export_buffers(struct ipc *t, const struct rt_collective *c, struct post *p)
{
	const struct rt_team *team = &t->base.base.team[c->team];
	int64_t both = c->kind == COLLECTIVE_ALLREDUCE ? c->count * (int64_t)dtype_bytes(c->dtype) : 0;
	enum status status = ipc_export(t, c->in, ipc_bytes_given(c, team->n, team->index), &p->in);
	return status == STATUS_OK ? ipc_export(t, c->out, both, &p->out) : status;
}

/* Allows others to read this member's buffers or its stage from this point of its stream on. */
static enum status post_buffers(struct ipc *t, struct rt_request *r)
{
	const struct rt_team *team = &t->base.base.team[r->c.team];
	struct ipc_team *own = &t->team[r->c.team];
	const struct rt_collective *c = &r->c;
	struct post *p = post_of(own, team->n, team->index, r->turn);
	*p = (struct post){.kind = c->kind,
	                   .dtype = c->dtype,
	                   .op = c->op,
	                   .root = c->root,
	                   .label = c->at.label,
	                   .count = c->count};
	put_lists(c, team->n, p->list);
	enum status status = ipc_is_staged(t, c) ? STATUS_OK : export_buffers(t, c, p);
	if (status == STATUS_OK)
		status = ipc_graph_enter(t, own->offers);
	if (status == STATUS_OK)
		status = cuda_await(t->base.c, own->offers, r->ready ? r->ready : c->after);
	if (status == STATUS_OK)
		status = use_stage(t, r, &p->in);
	if (r->ready)
		cuda_event_release(t->base.c, r->ready);
	r->ready = NULL;
	if (status == STATUS_OK)
		status = cuda_event_record(t->base.c, own->offers, &r->ready);
	for (int m = 0; m < team->n && status == STATUS_OK; m++)
		if (m != team->index && ipc_reads(c, m, team->index))
			status = ipc_team_signal(t, c->team, own->offers, m, IPC_READY, r->turn);
	if (status != STATUS_OK)
		return status;
	r->step = STEP_POSTED;
	publish_turn(t, team, &own->turns[team->index].posted, r->turn);
	return STATUS_OK;
}

/* Lists the collectives of all members; the caller frees them. compares: also compares them. NULL after a
 * failure. */
static struct peers_part *parts_of(struct ipc *t, const struct rt_request *r, bool compares,
                                   enum status *status)
{
	const struct rt_team *team = &t->base.base.team[r->c.team];
	const struct ipc_team *own = &t->team[r->c.team];
	int n = team->n, index = team->index;
	struct peers_part *part = mem_zalloc((size_t)n * sizeof *part);
	part[index] = (struct peers_part){.rank = team->rank[index], .c = r->c};
	*status = STATUS_OK;
	for (int m = 0; m < n && *status == STATUS_OK; m++) {
		const struct post *p = post_of(own, n, m, r->turn);
		if (m == index)
			continue;
		part[m] = (struct peers_part){.rank = team->rank[m],
		                              .c = {.kind = p->kind,
		                                    .dtype = p->dtype,
		                                    .op = p->op,
		                                    .team = r->c.team,
		                                    .root = p->root,
		                                    .count = p->count,
		                                    .counts = p->list,
		                                    .offsets = p->list + n,
		                                    .send_counts = p->list + 2 * n,
		                                    .send_offsets = p->list + 3 * n,
		                                    .at = {.label = p->label, .iteration = -1}}};
		if (compares)
			*status = peers_compare(t->base.base.job, &part[index], &part[m], n);
		if (*status != STATUS_OK || !ipc_reads(&r->c, index, m))
			continue;
		*status = ipc_import(t, part[m].rank, &p->in, &part[m].c.in);
		if (*status == STATUS_OK)
			*status = ipc_import(t, part[m].rank, &p->out, &part[m].c.out);
	}
	if (*status == STATUS_OK)
		return part;
	free(part);
	return NULL;
}

/* ---- steps */

/* Issues the work, or its first half, after all have posted. */
static enum status issue_first(struct ipc *t, struct rt_request *r)
{
	const struct rt_team *team = &t->base.base.team[r->c.team];
	struct ipc_team *own = &t->team[r->c.team];
	enum status status;
	struct peers_part *part = parts_of(t, r, true, &status);
	if (part)
		status = peers_same_blocks(t->base.base.job, part, team->n, team->index);
	if (status == STATUS_OK)
		status = cuda_await(t->base.c, own->moves, r->ready);
	if (status == STATUS_OK)
		status = ipc_collective_first(t, r->c.team, part, r->turn);
	free(part);
	if (status != STATUS_OK)
		return status;
	r->step = r->c.kind == COLLECTIVE_ALLREDUCE && !ipc_is_staged(t, &r->c) ? STEP_HALF : STEP_MOVED;
	publish_turn(t, team, &own->turns[team->index].half, r->turn);
	return STATUS_OK;
}

static enum status issue_second(struct ipc *t, struct rt_request *r)
{
	enum status status;
	struct peers_part *part = parts_of(t, r, false, &status);
	if (part)
		status = ipc_collective_second(t, r->c.team, part, r->turn);
	free(part);
	if (status == STATUS_OK)
		r->step = STEP_MOVED;
	return status;
}

/* Sets the request's event: that of this member's move, or, if others read its buffers, that of a stream that
 * waits for the readers, too. */
static enum status has_moved(struct ipc *t, struct rt_request *r)
{
	const struct rt_team *team = &t->base.base.team[r->c.team];
	struct ipc_team *own = &t->team[r->c.team];
	bool is_read = false;
	for (int m = 0; m < team->n; m++)
		is_read = is_read ||
		          (!ipc_is_staged(t, &r->c) && m != team->index && ipc_gives(&r->c, m, team->index));
	own->first = r->behind;
	if (!own->first)
		own->last = &own->first;
	cuda_event_release(t->base.c, r->ready);
	r->ready = NULL;
	enum status status = cuda_event_record(t->base.c, own->moves, is_read ? &r->ready : &r->event);
	if (status == STATUS_OK && is_read) {
		r->behind = NULL;
		*(own->moved ? own->end : &own->moved) = r;
		own->end = &r->behind;
	}
	publish_turn(t, team, &own->turns[team->index].moved, r->turn);
	return status;
}

static enum status end_collective(struct ipc *t, struct rt_request *r)
{
	const struct rt_team *team = &t->base.base.team[r->c.team];
	CUstream s;
	enum status status = cuda_stream_pool_stream(t->base.c, &t->ends, &s);
	if (status == STATUS_OK)
		status = cuda_await(t->base.c, s, r->ready);
	for (int m = 0; m < team->n && status == STATUS_OK; m++)
		if (m != team->index && ipc_reads(&r->c, m, team->index))
			status = ipc_team_await(t, r->c.team, s, m, IPC_OVER, r->turn);
	return status == STATUS_OK ? cuda_event_record(t->base.c, s, &r->event) : status;
}

/* Advances the first request that has not moved. */
static enum status advance_first(struct ipc *t, const struct rt_team *team, struct ipc_team *own, bool *goes)
{
	struct rt_request *r = own->first;
	enum status status = STATUS_OK;
	*goes = false;
	t->base.c->at = r->c.at;
	if (r->step == STEP_POSTED && all_posted(own, team->n, r->turn)) {
		*goes = true;
		status = issue_first(t, r);
	}
	if (status == STATUS_OK && r->step == STEP_HALF && all_have_half(own, team->n, r->turn)) {
		*goes = true;
		status = issue_second(t, r);
	}
	return status == STATUS_OK && r->step == STEP_MOVED ? has_moved(t, r) : status;
}

enum status ipc_team_advance(struct ipc *t, int id, bool *moved)
{
	const struct rt_team *team = &t->base.base.team[id];
	struct ipc_team *own = &t->team[id];
	enum status status = STATUS_OK;
	for (struct rt_request *r = own->first; r && status == STATUS_OK; r = r->behind) {
		if (r->step != STEP_ROOM)
			continue;
		if (!there_is_room(own, team->n, r->turn))
			break;
		t->base.c->at = r->c.at;
		status = post_buffers(t, r);
		*moved = true;
	}
	for (bool goes = true; own->first && goes && status == STATUS_OK; *moved |= goes)
		status = advance_first(t, team, own, &goes);
	while (own->moved && status == STATUS_OK && all_have_read(own, team, own->moved)) {
		struct rt_request *r = own->moved;
		own->moved = r->behind;
		status = end_collective(t, r);
		*moved = true;
	}
	return status;
}

enum status ipc_team_start(struct ipc *t, struct rt_request *r)
{
	struct ipc_team *own = &t->team[r->c.team];
	bool moved = false;
	enum status status = STATUS_OK;
	if (collective_reduces(r->c.kind))
		status = cuda_reduces(&t->base.base, &r->c);
	if (status != STATUS_OK)
		return status;
	rt_transport_count(&t->base.base, &r->c);
	r->turn = own->started++;
	r->step = STEP_ROOM;
	*(own->first ? own->last : &own->first) = r;
	own->last = &r->behind;
	status = ipc_team_advance(t, r->c.team, &moved);
	if (status == STATUS_OK && r->step == STEP_ROOM) /* `after` belongs to the caller again */
		status = cuda_stream_pool_event(t->base.c, &t->base.spare, r->c.after, &r->ready);
	return status;
}
