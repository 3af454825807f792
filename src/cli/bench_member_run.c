/* bench_member_run: runs collectives one after the other. The host runs them itself; on an asynchronous
 * device, an engine submits all of them before it waits. */
#include "cli/bench_member.h"
#include "exec/exec_device.h"

enum { LOOK_US = 20000 /* interval in which a waiting rank checks if the job has failed */ };

/* ---- messages of a ring: one to the right, one from the left */

static struct rt_p2p describe_message(const struct bench_member *x, const struct bench_shape *s, bool send)
{
	int other = x->rank[(x->index + (send ? 1 : x->members - 1)) % x->members];
	return (struct rt_p2p){.send = send,
	                       .peer = other,
	                       .channel = (uint32_t)x->team,
	                       .sequence = x->rounds,
	                       .dtype = x->c->dtype,
	                       .count = s->block,
	                       .data = send ? x->in : x->out};
}

/* Declares the messages of this rank. */
static enum status declare_messages(const struct bench_member *x)
{
	plan_pairs own = {0};
	for (int k = 0; k < 2 && x->index >= 0; k++) {
		int left = (x->index + x->members - k) % x->members, right = (left + 1) % x->members;
		const struct plan_pair pair = {x->rank[left], x->rank[right], (uint32_t)x->team};
		vec_push(&own, pair);
	}
	enum status status = exec_device_pairs(x->t, &own);
	vec_free(&own);
	return status;
}

/* ---- by the host */

static enum status run_ring(struct bench_member *x, const struct bench_shape *s)
{
	struct rt_watch watch = {0};
	struct rt_request *r[2] = {NULL, NULL};
	enum status status = STATUS_OK;
	for (int k = 0; k < 2 && status == STATUS_OK; k++) {
		const struct rt_p2p p = describe_message(x, s, !k);
		status = rt_transport_start_p2p(x->t, &p, &r[k]);
	}
	x->rounds++;
	while (status == STATUS_OK && (r[0] || r[1])) {
		uint32_t seen = x->t->ops->read(x->t);
		bool moved = false, done = false;
		status = x->t->ops->progress(x->t, &moved);
		for (int k = 0; k < 2 && status == STATUS_OK; k++) {
			if (!r[k])
				continue;
			status = x->t->ops->test(x->t, r[k], &done);
			r[k] = done ? NULL : r[k];
			moved |= done;
		}
		if (status != STATUS_OK || moved)
			continue;
		status = rt_job_status(x->job);
		if (status == STATUS_OK && rt_watch_expired(&watch, x->job))
			status = rt_job_stuck(x->job, "a message does not end");
		x->t->ops->wait(x->t, seen, LOOK_US);
	}
	return status;
}

/* Writes zeros (see bench_member_time) by plain stores, which leave the data in this processor's caches. */
static void write_input(const struct bench_member *x, const struct bench_shape *s,
                        const struct rt_collective *c)
{
	static const volatile int64_t zero = 0;
	int64_t *at = (int64_t *)c->in, n = bench_member_input(x, s) * (int64_t)x->data.size, value = zero;
	for (int64_t k = 0; at && k < n / 8; k++)
		at[k] = value;
}

static enum status run_by_host(struct bench_member *x, const struct bench_shape *s,
                               const struct rt_collective *c, int64_t times)
{
	const struct rt_collective barrier = {.kind = COLLECTIVE_BARRIER, .team = x->team};
	enum status status = STATUS_OK;
	for (int64_t k = 0; k < times && status == STATUS_OK; k++) {
		if (x->fresh)
			write_input(x, s, c);
		status = s->kind == COLLECTIVE_SEND_RECV ? run_ring(x, s) : rt_transport_run(x->t, c);
		if (status == STATUS_OK && x->apart)
			status = rt_transport_run(x->t, &barrier);
	}
	return status;
}

double bench_member_time_writing(const struct bench_member *x, const struct bench_shape *s,
                                 const struct rt_collective *c, int64_t times)
{
	int64_t start = bench_now_ns();
	for (int64_t k = 0; k < times; k++)
		write_input(x, s, c);
	return (double)(bench_now_ns() - start) / (double)times;
}

/* ---- by an engine */

static struct rt_ticket submit_round(struct bench_member *x, const struct bench_shape *s,
                                     const struct rt_collective *c)
{
	if (s->kind != COLLECTIVE_SEND_RECV)
		return rt_submit_collective(x->engine, x->stream, c);
	rt_group_begin(x->engine);
	for (int k = 0; k < 2; k++) {
		const struct rt_p2p p = describe_message(x, s, !k);
		rt_submit_p2p(x->engine, x->stream, &p);
	}
	return rt_group_end(x->engine, x->stream, (struct rt_origin){0});
}

static enum status run_by_engine(struct bench_member *x, const struct bench_shape *s,
                                 const struct rt_collective *c, int64_t times)
{
	const struct rt_collective barrier = {.kind = COLLECTIVE_BARRIER, .team = x->team};
	for (int64_t k = 0; k < times; k++) {
		rt_submit_wait(x->engine, x->stream, submit_round(x, s, c), (struct rt_origin){0});
		if (x->apart)
			rt_submit_wait(x->engine, x->stream,
			               rt_submit_collective(x->engine, x->stream, &barrier),
			               (struct rt_origin){0});
	}
	return rt_drain(x->engine);
}

/* ---- both */

/* Makes the windows of this rank's team for all movers that the options allow. */
static enum status open_windows(struct bench_member *x)
{
	enum mover asked = mover_find(x->c->b->ranks.mover);
	unsigned *set = mem_zalloc((size_t)x->t->teams * sizeof *set), windows = 0;
	for (enum mover m = 0; m < MOVER_COUNT; m++)
		if (mover_needs_window(m) && (asked == m || asked == MOVER_AUTO))
			windows |= 1u << m;
	if (x->index >= 0 && x->members > 1)
		set[x->team] = windows & x->able;
	enum status status = exec_device_windows(x->t, set);
	if (x->index >= 0)
		x->able &= ~windows | set[x->team];
	free(set);
	return status;
}

enum status bench_member_ready(struct bench_member *x)
{
	if (!x->host)
		return STATUS_OK;
	enum status status = declare_messages(x);
	if (status == STATUS_OK)
		status = open_windows(x);
	if (status == STATUS_OK)
		status = rt_engine_new(x->job, "auto", x->device, x->t, &x->engine);
	if (status == STATUS_OK)
		x->stream = rt_stream_new(x->engine, "main");
	return status;
}

enum status bench_member_run(struct bench_member *x, const struct bench_shape *s,
                             const struct rt_collective *c, int64_t times)
{
	if (x->index < 0)
		return STATUS_OK;
	return x->engine ? run_by_engine(x, s, c, times) : run_by_host(x, s, c, times);
}
