/* LABELS: tsan
 * The transport between ranks that are threads and share a GPU. */
#include "test_cuda_transport.h"

/* Rank 0 sends 4 elements, rank 1 receives 5. */
static int uneven_message(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rt_transport *t;
	struct rt_request *r;
	float x[8] = {0};
	if (staged_open(job, "peers", &t) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_p2p p = {.send = job->rank == 0,
	                   .peer = 1 - job->rank,
	                   .dtype = RT_F32,
	                   .count = 4 + job->rank,
	                   .data = x};
	if (rt_transport_start_p2p(t, &p, &r) == STATUS_OK)
		finish(t, r);
	rt_transport_close(t);
	return rt_job_status(job);
}

/* What the answer to message 1 is for, message 0 waits for: their order of starts is not that of their
 * numbers. */
static int crossed(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rt_transport *t;
	struct rt_request *r[3];
	float x[3] = {1, 2, 3};
	int wrong = 0, first = job->rank == 0;
	if (staged_open(job, "peers", &t) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_p2p p = {.send = first, .peer = 1 - job->rank, .dtype = RT_F32, .count = 1};
	for (int k = 0; k < 3; k++) { /* message 1, the answer, message 0 */
		p.send = k == 1 ? !first : first;
		p.sequence = k == 0;
		p.data = &x[k];
		if (!first)
			x[k] = k == 1 ? 20 : 0;
		wrong |= rt_transport_start_p2p(t, &p, &r[k]) != STATUS_OK || finish(t, r[k]);
	}
	wrong |= first ? x[1] != 20 : x[0] != 1 || x[2] != 3;
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* All but the last have posted when the last one fails. */
static int one_fails(struct rt_job *job, void *arg)
{
	(void)arg;
	static const int all[] = {0, 1, 2};
	struct rt_transport *t;
	struct rt_request *r[2];
	float x[4] = {0};
	int team, last = job->rank == 2;
	if (staged_open(job, "peers", &t) != STATUS_OK || rt_transport_team(t, all, 3, &team) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_collective c = {
	    .kind = RT_BROADCAST, .dtype = RT_F32, .team = team, .in = x, .out = x, .count = 4};
	struct rt_p2p p = {.send = true, .peer = 2, .dtype = RT_F32, .count = 4, .data = x};
	if (!last && (rt_transport_start(t, &c, &r[0]) != STATUS_OK ||
	              rt_transport_start_p2p(t, &p, &r[1]) != STATUS_OK))
		return STATUS_INTERNAL;
	rt_job_barrier(job, "the others");
	if (last)
		rt_job_fail(job, STATUS_WRONG);
	else
		finish(t, r[0]);
	rt_transport_close(t);
	return rt_job_status(job);
}

static int named(struct rt_job *job, void *name)
{
	struct rt_device *d;
	struct rt_transport *t;
	enum status status = cuda_open(job, &d);
	if (status != STATUS_OK)
		return status;
	status = cuda_transport_open(job, name, false, d, &t);
	if (status == STATUS_OK) {
		status = strcmp(t->ops->name, "peers") == 0 ? STATUS_OK : STATUS_WRONG;
		rt_transport_close(t);
	}
	rt_device_close(d);
	return status;
}

int main(void)
{
	static const int sizes[] = {1, 2, 4};
	struct captured c;
	setenv("HIRC_MOCK_DELAY_US", "30", 0);
	if (TEST_FORK) {
		launch_captured(RT_BOOT_FORK, 2, 5000, named, "peers", &c);
		CHECK_EQ(c.status, STATUS_ABSENT);
		CHECK(has(c.text,
		          "transport peers needs ranks that are threads of one process and share a GPU"));
	}
	CHECK_EQ(launch(RT_BOOT_THREAD, CHAIN_RANKS, 30000, chain_main, "peers"), STATUS_OK);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		CHECK_EQ(launch(RT_BOOT_THREAD, sizes[i], 30000, cuda_transport_main, "peers"), STATUS_OK);
	disagreement_suite(RT_BOOT_THREAD, staged_open, "peers");
	launch_captured(RT_BOOT_THREAD, 2, 5000, uneven_message, NULL, &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "send of 4 f32"));
	CHECK(has(c.text, "recv of 5 f32"));
	CHECK_EQ(launch(RT_BOOT_THREAD, 2, 5000, crossed, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, 3, 5000, one_fails, NULL), STATUS_WRONG);
	CHECK_EQ(launch(RT_BOOT_THREAD, 2, 5000, named, "auto"), STATUS_OK);
	launch_captured(RT_BOOT_THREAD, 2, 5000, named, "shm", &c);
	CHECK_EQ(c.status, STATUS_ABSENT);
	CHECK(has(c.text, "the device cuda has no transport 'shm': it has nccl and peers\n"));
	return check_result();
}
