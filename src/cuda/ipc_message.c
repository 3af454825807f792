/* ipc_message: messages between ranks that are processes.
 *
 * One side offers its buffer in a slot, the other finds the offer by channel and sequence and moves the data:
 *
 *     get   the sender offers, the receiver copies from there
 *     put   the receiver offers, the sender copies to there
 *
 *     box   for one rank that offers and one that moves
 *       posted   number of offers
 *       order    the slots of the last 256 offers
 *       slot     an offer, and the turn of the slot; `taken` equals the turn once the copy is issued
 *
 * A slot is free again when its copy is issued. The stream that makes the next offer in it first waits for
 * that copy, so that no semaphore changes before its last value was seen. If no slot is free, the message
 * waits: a rank is at most 256 messages ahead of another. */
#include "cuda/ipc.h"
#include "cuda/kernel.h"
#include <string.h>

struct offer {
	_Atomic uint32_t taken;
	uint32_t turn, channel, label;
	uint64_t sequence;
	enum dtype dtype;
	int64_t count;
	struct ipc_place place;
};

struct box {
	_Atomic uint32_t posted;
	uint16_t order[IPC_SLOTS];
	struct offer slot[IPC_SLOTS];
};

/* The state of messages with another rank. */
struct ipc_mail {
	/* for the side that offers: */
	uint16_t free[IPC_SLOTS]; /* free slots, the one that is free longest first, from `next` on */
	uint32_t next, frees;
	uint32_t turn[IPC_SLOTS]; /* the turn of each slot that began last */
	bool copied[IPC_SLOTS];   /* a stream may still copy what the slot offered */
	/* for the side that moves: */
	uint32_t read; /* number of offers that it has seen, */
	uint16_t waiting[IPC_SLOTS];
	int waits; /* and number of those that have no message yet */
};

size_t ipc_boxes_bytes(int ranks)
{
	return (size_t)ranks * (size_t)ranks * sizeof(struct box);
}

static struct box *box_of(struct ipc *t, int offers, int moves)
{
	int ranks = t->base.base.job->size;
	return (struct box *)((char *)t->region.at + (size_t)ranks * sizeof(struct rt_bell)) +
	       offers * ranks + moves;
}

/* Counts the semaphores of a rank: for each other rank those of the slots that this rank offers, then those
 * of the slots offered to it. */
uint32_t ipc_message_semaphores(int ranks)
{
	return (uint32_t)ranks * 2 * IPC_SLOTS;
}

static uint32_t ready_of(int offers, int slot)
{
	return (uint32_t)offers * 2 * IPC_SLOTS + (uint32_t)slot;
}

static uint32_t over_of(int moves, int slot)
{
	return ready_of(moves, slot) + IPC_SLOTS;
}

static struct ipc_mail *mail_of(struct ipc *t, int peer)
{
	struct ipc_mail *m = t->peer[peer].mail;
	if (m)
		return m;
	m = t->peer[peer].mail = mem_zalloc(sizeof *m);
	for (int k = 0; k < IPC_SLOTS; k++)
		m->free[k] = (uint16_t)k;
	m->frees = IPC_SLOTS;
	return m;
}

void ipc_messages_settle(struct ipc *t)
{
	for (int r = 0; r < t->base.base.job->size; r++)
		if (t->peer[r].mail)
			memset(t->peer[r].mail->copied, 0, sizeof t->peer[r].mail->copied);
}

/* Returns a stream on which the data of this side are ready. */
static enum status stream_after(struct ipc *t, struct cuda_stream_pool *spare, const struct rt_request *r,
                                CUstream *out)
{
	enum status status = cuda_stream_pool_stream(t->base.c, spare, out);
	if (status == STATUS_OK)
		status = ipc_graph_enter(t, *out);
	if (status == STATUS_OK)
		status = cuda_await(t->base.c, *out, r->ready ? r->ready : r->message.p.after);
	return status;
}

/* ---- the one that offers */

static enum status offer_message(struct ipc *t, struct rt_request *r, bool *moved)
{
	const struct rt_p2p *p = &r->message.p;
	struct ipc_mail *m = mail_of(t, p->peer);
	int rank = t->base.base.job->rank;
	struct box *box = box_of(t, rank, p->peer);
	CUstream s;
	if (!m->frees)
		return STATUS_OK;
	int slot = m->free[m->next];
	uint32_t turn = ++m->turn[slot];
	m->next = (m->next + 1) % IPC_SLOTS;
	m->frees--;
	struct offer *o = &box->slot[slot];
	enum status status = ipc_export(t, p->data, p->count * (int64_t)dtype_bytes(p->dtype), &o->place);
	if (status == STATUS_OK)
		status = stream_after(t, &t->offers, r, &s);
	if (status == STATUS_OK && m->copied[slot])
		status = ipc_await(t, s, over_of(p->peer, slot), turn - 1);
	m->copied[slot] = true;
	if (status == STATUS_OK)
		status = ipc_signal(t, s, p->peer, ready_of(rank, slot), turn);
	if (status != STATUS_OK)
		return status;
	o->turn = turn;
	o->channel = p->channel;
	o->sequence = p->sequence;
	o->label = p->at.label;
	o->dtype = p->dtype;
	o->count = p->count;
	uint32_t posted = atomic_load_explicit(&box->posted, memory_order_relaxed);
	box->order[posted % IPC_SLOTS] = (uint16_t)slot;
	atomic_store_explicit(&box->posted, posted + 1, memory_order_release);
	r->slot = slot;
	r->turn = turn;
	*moved = true;
	ipc_wake(t, p->peer);
	return STATUS_OK;
}

static enum status end_offer(struct ipc *t, struct rt_request *r, bool *moved)
{
	int peer = r->message.p.peer;
	struct ipc_mail *m = mail_of(t, peer);
	const struct offer *o = &box_of(t, t->base.base.job->rank, peer)->slot[r->slot];
	CUstream s;
	if (atomic_load_explicit(&o->taken, memory_order_acquire) != r->turn)
		return STATUS_OK;
	enum status status = cuda_stream_pool_stream(t->base.c, &t->ends, &s);
	if (status == STATUS_OK)
		status = ipc_await(t, s, over_of(peer, r->slot), r->turn);
	if (status == STATUS_OK)
		status = cuda_event_record(t->base.c, s, &r->event);
	m->free[(m->next + m->frees++) % IPC_SLOTS] = (uint16_t)r->slot;
	*moved = true;
	return status;
}

/* ---- the one that moves */

/* Finds the offer for a message and removes it from those that wait; -1: it has not arrived. */
static int find_offer(const struct box *box, struct ipc_mail *m, const struct rt_p2p *p)
{
	uint32_t posted = atomic_load_explicit(&box->posted, memory_order_acquire);
	while (m->read != posted)
		m->waiting[m->waits++] = box->order[m->read++ % IPC_SLOTS];
	for (int k = 0; k < m->waits; k++) {
		int slot = m->waiting[k];
		const struct offer *o = &box->slot[slot];
		if (o->channel != p->channel || o->sequence != p->sequence)
			continue;
		m->waits--;
		for (; k < m->waits; k++)
			m->waiting[k] = m->waiting[k + 1];
		return slot;
	}
	return -1;
}

static void describe_p2p(const struct rt_job *job, int rank, bool send, enum dtype type, int64_t count,
                         uint32_t label, struct buf *out)
{
	buf_printf(out, "%s of %lld %s", send ? "send" : "recv", (long long)count, dtype_name(type));
	cuda_describe_label(job, rank, label, out);
}

static enum status compare_offer(struct ipc *t, const struct rt_p2p *p, const struct offer *o)
{
	struct rt_job *job = t->base.base.job;
	if (p->dtype == o->dtype && p->count == o->count)
		return STATUS_OK;
	struct buf own = {0}, other = {0};
	describe_p2p(job, job->rank, p->send, p->dtype, p->count, p->at.label, &own);
	describe_p2p(job, p->peer, !p->send, o->dtype, o->count, o->label, &other);
	enum status status = cuda_disagree(job, job->rank, own.at, p->peer, other.at);
	buf_free(&own);
	buf_free(&other);
	return status;
}

static enum status copy_message(struct ipc *t, CUstream s, const struct rt_p2p *p, void *there)
{
	int64_t bytes = p->count * (int64_t)dtype_bytes(p->dtype);
	void *to = p->send ? there : p->data;
	const void *from = p->send ? p->data : there;
	return t->p2p.by_kernel ? cuda_copy_by_kernel(t->base.c, s, to, from, bytes)
	                        : cuda_copy(t->base.c, s, to, from, bytes);
}

static enum status move_message(struct ipc *t, struct rt_request *r, bool *moved)
{
	const struct rt_p2p *p = &r->message.p;
	int rank = t->base.base.job->rank;
	struct box *box = box_of(t, p->peer, rank);
	int slot = find_offer(box, mail_of(t, p->peer), p);
	CUstream s;
	void *there;
	if (slot < 0)
		return STATUS_OK;
	struct offer *o = &box->slot[slot];
	enum status status = compare_offer(t, p, o);
	if (status == STATUS_OK)
		status = ipc_import(t, p->peer, &o->place, &there);
	if (status == STATUS_OK)
		status = stream_after(t, &t->moves, r, &s);
	if (status == STATUS_OK)
		status = ipc_await(t, s, ready_of(p->peer, slot), o->turn);
	if (status == STATUS_OK)
		status = copy_message(t, s, p, there);
	if (status == STATUS_OK)
		status = ipc_signal(t, s, p->peer, over_of(rank, slot), o->turn);
	if (status == STATUS_OK)
		status = cuda_event_record(t->base.c, s, &r->event);
	if (status != STATUS_OK)
		return status;
	atomic_store_explicit(&o->taken, o->turn, memory_order_release);
	ipc_wake(t, p->peer);
	*moved = true;
	return STATUS_OK;
}

/* ---- both */

/* Advances a message. r->event is set when all of it is issued. The data of this side are ready after
 * r->ready if that is set, otherwise after r->message.p.after. */
static enum status advance_message(struct ipc *t, struct rt_request *r, bool *moved)
{
	t->base.c->at = r->message.p.at;
	if (r->message.p.send == t->p2p.put)
		return move_message(t, r, moved);
	enum status status = r->slot < 0 ? offer_message(t, r, moved) : STATUS_OK;
	return status == STATUS_OK && r->slot >= 0 ? end_offer(t, r, moved) : status;
}

enum status ipc_messages_advance(struct ipc *t, bool *moved)
{
	enum status status = STATUS_OK;
	for (struct rt_request **at = &t->messages; *at && status == STATUS_OK;) {
		struct rt_request *r = *at;
		status = advance_message(t, r, moved);
		if (r->event)
			*at = r->behind;
		else
			at = &r->behind;
		if (!*at)
			t->end = at;
	}
	return status;
}

enum status ipc_message_start(struct ipc *t, struct rt_request *r)
{
	bool moved = false;
	r->slot = -1;
	enum status status = advance_message(t, r, &moved);
	if (status == STATUS_OK && !moved) /* p.after belongs to the caller again */
		status = cuda_stream_pool_event(t->base.c, &t->base.spare, r->message.p.after, &r->ready);
	if (status == STATUS_OK && !r->event) {
		*(t->messages ? t->end : &t->messages) = r;
		t->end = &r->behind;
	}
	return status;
}

void ipc_messages_close(struct ipc *t)
{
	for (int r = 0; r < t->base.base.job->size; r++)
		free(t->peer[r].mail);
}
