/* messages: see messages.h. */
#include "cuda/messages.h"
#include "cuda/cuda_transport.h"
#include <pthread.h>

enum { CHAINS = 1024 /* of the table; a power of 2 */ };

struct cuda_messages {
	pthread_mutex_t lock;
	struct cuda_message *chain[CHAINS]; /* messages whose other side has not arrived */
};

struct cuda_messages *cuda_messages_new(void)
{
	struct cuda_messages *all = mem_zalloc(sizeof *all);
	pthread_mutex_init(&all->lock, NULL);
	return all;
}

void cuda_messages_free(struct cuda_messages *all)
{
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static int sender(const struct cuda_message *m)
{
	return m->p.send ? m->rank : m->p.peer;
}

static int receiver(const struct cuda_message *m)
{
	return m->p.send ? m->p.peer : m->rank;
}

static struct cuda_message **chain_of(struct cuda_messages *all, const struct cuda_message *m)
{
	uint64_t hash = (uint64_t)sender(m) * 0x9e3779b97f4a7c15u + (uint64_t)receiver(m);
	hash = hash * 0x9e3779b97f4a7c15u + m->p.channel;
	hash = hash * 0x9e3779b97f4a7c15u + m->p.sequence;
	return &all->chain[(hash ^ hash >> 32) % CHAINS];
}

/* Removes the other side of a message from the table. NULL: it is not in the table. */
static struct cuda_message *take_counterpart(struct cuda_messages *all, const struct cuda_message *m)
{
	for (struct cuda_message **at = chain_of(all, m); *at; at = &(*at)->next) {
		struct cuda_message *o = *at;
		if (o->p.send == m->p.send || sender(o) != sender(m) || receiver(o) != receiver(m) ||
		    o->p.channel != m->p.channel || o->p.sequence != m->p.sequence)
			continue;
		*at = o->next;
		o->posted = false;
		return o;
	}
	return NULL;
}

static void describe_side(const struct rt_job *job, const struct cuda_message *m, struct buf *out)
{
	buf_printf(out, "%s of %lld %s", m->p.send ? "send" : "recv", (long long)m->p.count,
	           dtype_name(m->p.dtype));
	cuda_describe_label(job, m->rank, m->p.at.label, out);
}

static enum status compare_sides(struct rt_job *job, const struct cuda_message *m,
                                 const struct cuda_message *o)
{
	if (m->p.dtype == o->p.dtype && m->p.count == o->p.count)
		return STATUS_OK;
	struct buf own = {0}, other = {0};
	describe_side(job, m, &own);
	describe_side(job, o, &other);
	enum status status = cuda_disagree(job, m->rank, own.at, o->rank, other.at);
	buf_free(&own);
	buf_free(&other);
	return status;
}

/* Issues the copy. The data of a side are ready when its event is over: `own` belongs to the caller, the
 * other to its message. */
static enum status copy_payload(struct cuda *c, struct cuda_stream_pool *s, struct cuda_message *m,
                                struct cuda_message *o)
{
	CUstream stream;
	const struct cuda_message *from = m->p.send ? m : o, *to = m->p.send ? o : m;
	enum status status = cuda_stream_pool_stream(c, s, &stream);
	if (status == STATUS_OK)
		status = cuda_await(c, stream, m->p.after);
	if (status == STATUS_OK)
		status = cuda_await(c, stream, o->ready);
	if (status == STATUS_OK)
		status = cuda_copy(c, stream, to->p.data, from->p.data,
		                   m->p.count * (int64_t)dtype_bytes(m->p.dtype));
	CUevent own, other;
	if (status == STATUS_OK)
		status = cuda_event_record(c, stream, &own);
	if (status == STATUS_OK && (status = cuda_event_record(c, stream, &other)) == STATUS_OK) {
		m->done = own;
		o->done = other;
	}
	return status;
}

enum status cuda_messages_post(struct cuda_messages *all, struct cuda *c, struct cuda_stream_pool *s,
                               struct cuda_message *m, int *woken)
{
	enum status status;
	*woken = -1;
	pthread_mutex_lock(&all->lock);
	struct cuda_message *o = take_counterpart(all, m);
	if (o) {
		status = compare_sides(c->base.job, m, o);
		if (status == STATUS_OK)
			status = copy_payload(c, s, m, o);
		if (status == STATUS_OK)
			*woken = o->rank;
	} else {
		status = cuda_stream_pool_event(c, s, m->p.after, &m->ready);
		if (status == STATUS_OK) {
			struct cuda_message **chain = chain_of(all, m);
			m->next = *chain;
			m->posted = true;
			*chain = m;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return status;
}

CUevent cuda_messages_issued(struct cuda_messages *all, struct cuda *c, struct cuda_message *m)
{
	if (pthread_mutex_trylock(&all->lock) != 0)
		return NULL;
	CUevent done = m->done;
	pthread_mutex_unlock(&all->lock);
	if (done && m->ready) {
		cuda_event_release(c, m->ready);
		m->ready = NULL;
	}
	return done;
}

void cuda_messages_withdraw(struct cuda_messages *all, struct cuda *c, struct cuda_message *m)
{
	pthread_mutex_lock(&all->lock);
	if (m->posted) {
		struct cuda_message **at = chain_of(all, m);
		while (*at != m)
			at = &(*at)->next;
		*at = m->next;
		m->posted = false;
	}
	pthread_mutex_unlock(&all->lock);
	if (m->ready)
		cuda_event_release(c, m->ready);
	m->ready = NULL;
}
