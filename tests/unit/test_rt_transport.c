/* LABELS: tsan
 * The shared-memory transport with ranks as threads and as processes. */
#include "test_rt_transport.h"

/* Each rank believes that it is the root: none waits, but the second one notices it. */
static int both_roots(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rt_transport *t;
	int both[2] = {0, 1}, team;
	float x = 1;
	if (rt_transport_open(job, TRANSPORT_SHM, &t) != STATUS_OK ||
	    rt_transport_team(t, both, 2, &team) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_collective c = {.kind = COLLECTIVE_BROADCAST,
	                          .dtype = DTYPE_F32,
	                          .team = team,
	                          .root = job->rank,
	                          .in = &x,
	                          .out = &x,
	                          .count = 1};
	rt_transport_run(t, &c);
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return STATUS_OK;
}

enum { AHEAD = 200, LARGE = 5000 };

/* The roots are far ahead of the last rank; large and small collectives, several at a time. */
static int run_ahead(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rt_transport *t;
	struct rt_device *device;
	int all[4] = {0, 1, 2, 3}, team, wrong = 0, last = job->size - 1;
	struct rt_request *r[AHEAD];
	void *at;
	if (rt_transport_open(job, TRANSPORT_SHM, &t) != STATUS_OK ||
	    rt_device_open(job, "cpu", &device) != STATUS_OK ||
	    rt_transport_team(t, all, job->size, &team) != STATUS_OK ||
	    rt_transport_alloc(t, device, AHEAD * LARGE * sizeof(float), "buffers", &at) != STATUS_OK)
		return STATUS_INTERNAL;
	float *x = at;
	if (job->rank == last)
		usleep(300000);
	for (int i = 0; i < AHEAD; i++) {
		int64_t n = i % 3 ? 20 : LARGE;
		float *mine = x + (int64_t)i * LARGE;
		for (int64_t k = 0; k < n; k++)
			mine[k] = (float)(job->rank == i % last ? i + k : -1);
		struct rt_collective c = {.kind = COLLECTIVE_BROADCAST,
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .root = i % last,
		                          .in = mine,
		                          .out = mine,
		                          .count = n};
		wrong |= rt_transport_start(t, &c, &r[i]) != STATUS_OK;
	}
	for (int i = 0; i < AHEAD; i++) {
		wrong |= finish(t, r[i]);
		float *mine = x + (int64_t)i * LARGE;
		for (int64_t k = 0; k < (i % 3 ? 20 : LARGE); k++) {
			wrong |= mine[k] != (float)(i + k);
			mine[k] = -2; /* no rank reads it any more */
		}
	}
	/* One at a time: a rank that is done may be ahead of the last one. */
	for (int i = 0; i < AHEAD && !wrong; i++) {
		float own = (float)(job->rank + i), sum;
		if (i == AHEAD / 2 && job->rank == last)
			usleep(100000);
		struct rt_collective c = {.kind = COLLECTIVE_REDUCE,
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .in = &own,
		                          .out = &sum,
		                          .count = 1};
		wrong |= rt_transport_run(t, &c) != STATUS_OK;
		float want = (float)(job->size * i + job->size * last / 2);
		wrong |= job->rank == 0 && sum != want;
	}
	rt_job_barrier(job, "the end");
	rt_transport_free(t, device, at);
	rt_transport_close(t);
	rt_device_close(device);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* Returns element i of member `own` after a small collective of n elements; -1: none. */
static double small_result(enum collective kind, int n, int own, int root, int i)
{
	int first = own * n; /* a member gives 100 * itself + place */
	bool here = own == root;
	switch (kind) {
	case COLLECTIVE_ALLGATHER:
		return 100 * (i / n) + i % n;
	case COLLECTIVE_GATHER:
		return here ? 100 * (i / n) + i % n : -1;
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		return 100 * (i / n) + first + i % n;
	case COLLECTIVE_ALLREDUCE:
		return i < n ? 300 + 3 * i : -1;
	case COLLECTIVE_REDUCE:
		return here && i < n ? 300 + 3 * i : -1;
	case COLLECTIVE_REDUCE_SCATTER:
		return i < n ? 300 + 3 * (first + i) : -1;
	case COLLECTIVE_BROADCAST:
		return i < n ? 100 * root + i : -1;
	case COLLECTIVE_SCATTER:
		return i < n ? 100 * root + first + i : -1;
	default:
		return -1;
	}
}

/* A member that only gives is done at once, several times; the last one to start then finds the mismatch. */
static int late_mismatch(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { GIVEN = 5 };
	static const int both[2] = {0, 1};
	struct rt_transport *t;
	struct rt_request *r;
	int team, wrong = 0;
	float x[2] = {0};
	if (rt_transport_open(job, TRANSPORT_SHM, &t) != STATUS_OK ||
	    rt_transport_team(t, both, 2, &team) != STATUS_OK)
		return STATUS_INTERNAL;
	for (int i = 0; i < GIVEN; i++) {
		struct rt_collective c = {.kind = COLLECTIVE_BROADCAST,
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .in = x,
		                          .out = x,
		                          .count = job->rank == 1 && i == GIVEN - 1 ? 2 : 1};
		if (i == 0 && job->rank == 1)
			rt_job_barrier(job, "the root");
		wrong |= rt_transport_start(t, &c, &r) != STATUS_OK || r;
		if (i == GIVEN - 1 && job->rank == 0)
			rt_job_barrier(job, "the root");
	}
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong && rt_job_status(job) == STATUS_OK ? STATUS_WRONG : STATUS_OK;
}

/* Small collectives end at once for the last member to start, and slots are reused. */
static int at_once(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { ROUNDS = 12, MOST = 9 };
	static const int all[3] = {0, 1, 2};
	struct rt_transport *t;
	int team, wrong = 0;
	double in[3 * MOST], out[3 * MOST];
	if (rt_transport_open(job, TRANSPORT_SHM, &t) != STATUS_OK ||
	    rt_transport_team(t, all, 3, &team) != STATUS_OK)
		return STATUS_INTERNAL;
	if (job->rank == 2) /* late for the first exchange */
		usleep(1000000);
	for (int round = 0; round < ROUNDS; round++)
		for (int k = 0; k < COLLECTIVE_COUNT && !wrong; k++) {
			enum collective kind = (enum collective)k;
			int late = (round + k) % 3, root = round / 3 % 3,
			    n = kind == COLLECTIVE_BARRIER ? 0 : 1 + round % MOST;
			if (kind == COLLECTIVE_SEND_RECV) /* has two members */
				continue;
			for (int i = 0; i < 3 * MOST; i++) {
				in[i] = 100 * job->rank + i;
				out[i] = -1;
			}
			struct rt_collective c = {.kind = kind,
			                          .dtype = DTYPE_F64,
			                          .team = team,
			                          .root = root,
			                          .in = in,
			                          .out = out,
			                          .count = n};
			struct rt_request *r = NULL;
			if (job->rank != late)
				wrong |= rt_transport_start(t, &c, &r) != STATUS_OK;
			rt_job_barrier(job, "the others");
			if (job->rank == late)
				wrong |= rt_transport_start(t, &c, &r) != STATUS_OK || r;
			wrong |= finish(t, r);
			for (int i = 0; i < 3 * n; i++)
				wrong |= out[i] != small_result(kind, n, job->rank, root, i);
		}
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* A small send is done at once, a large one when its receive has started; until then both are reported as
 * missing. */
static int lonely_send(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { LARGE_SEND = 5000 };
	struct rt_transport *t;
	static _Thread_local float x[LARGE_SEND];
	int wrong = 0;
	uint32_t left = 0;
	bool done = false, moved;
	if (rt_transport_open(job, TRANSPORT_SHM, &t) != STATUS_OK)
		return STATUS_INTERNAL;
	for (int large = 0; large < 2; large++) {
		struct rt_request *r = NULL;
		struct rt_p2p p = {.send = job->rank == 0,
		                   .peer = 1 - job->rank,
		                   .sequence = (uint64_t)large,
		                   .dtype = DTYPE_F32,
		                   .count = large ? LARGE_SEND : 1,
		                   .data = x};
		if (job->rank == 0) {
			wrong |= rt_transport_start_p2p(t, &p, &r) != STATUS_OK || (large && !r);
			for (int i = 0; i < 1000 && r && !done; i++) {
				t->ops->progress(t, &moved);
				t->ops->test(t, r, &done);
			}
			wrong |= done || t->ops->unreceived(t, &left) != (large ? -1 : 1) || left != !large;
		}
		rt_job_barrier(job, "the receive");
		if (job->rank == 1)
			rt_transport_start_p2p(t, &p, &r);
		wrong |= finish(t, r);
		rt_job_barrier(job, "both");
		wrong |= t->ops->unreceived(t, &left) != -1;
	}
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong;
}

/* Several collectives of a team at once, tested in another order on every second rank. */
static int several_main(struct rt_job *job, void *arg)
{
	enum { SEVERAL = 6, COUNT = 1000 };
	static const int all[] = {0, 1, 2, 3};
	struct rt_transport *t;
	struct rt_request *r[SEVERAL];
	int host[TEST_MOST_RANKS], team, wrong = 0, left = SEVERAL;
	int32_t *in = calloc(COUNT, sizeof *in), *out = calloc(SEVERAL * COUNT * 4, sizeof *out);
	if (test_transport_open(job, arg, host, &t) != STATUS_OK ||
	    rt_transport_team(t, all, 4, &team) != STATUS_OK)
		return rt_job_status(job);
	for (int i = 0; i < COUNT; i++)
		in[i] = job->rank * COUNT + i;
	for (int k = 0; k < SEVERAL; k++) {
		struct rt_collective c = {.kind = k % 2 ? COLLECTIVE_ALLREDUCE : COLLECTIVE_ALLGATHER,
		                          .dtype = DTYPE_I32,
		                          .op = REDUCE_MAX,
		                          .team = team,
		                          .in = in,
		                          .out = out + (size_t)k * COUNT * 4,
		                          .count = COUNT - k};
		rt_transport_start(t, &c, &r[k]);
	}
	while (left && rt_job_status(job) == STATUS_OK)
		for (int i = 0; i < SEVERAL; i++) {
			int k = job->rank % 2 ? i : SEVERAL - 1 - i;
			bool done = false, moved;
			if (!r[k])
				continue;
			t->ops->progress(t, &moved);
			t->ops->test(t, r[k], &done);
			r[k] = done ? NULL : r[k];
			left -= done;
		}
	for (int k = 0; k < SEVERAL; k++)
		for (int i = 0; i < (COUNT - k) * (k % 2 ? 1 : 4); i++)
			wrong += out[(size_t)k * COUNT * 4 + (size_t)i] !=
			         (k % 2 ? 3 * COUNT + i : i / (COUNT - k) * COUNT + i % (COUNT - k));
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	free(in);
	free(out);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

static int too_far(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rt_transport *t;
	int ranks[2] = {0, 9}, team;
	enum status status = rt_transport_open(job, TRANSPORT_SHM, &t);
	if (status != STATUS_OK)
		return status;
	status = rt_transport_team(t, ranks, 2, &team);
	rt_transport_close(t);
	return status;
}

static int no_such(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	return rt_transport_open(job, transport_kind_find(arg), &t);
}

static enum status open_by_name(struct rt_job *job, const char *name, struct rt_transport **out)
{
	return rt_transport_open(job, transport_kind_find(name), out);
}

int main(void)
{
	static const enum rt_boot_kind kinds[] = {RT_BOOT_THREAD, RT_BOOT_FORK};
	static const int sizes[] = {1, 2, 3, 4, 8};
	for (int k = 0; k <= TEST_FORK; k++) {
		/* 8 threads take long under the thread sanitizer */
		for (int i = 0; i < (!TEST_FORK ? 4 : getenv("HIRC_FEW") ? 3 : 5); i++)
			CHECK_EQ(launch(kinds[k], sizes[i], 30000, transport_main, "shm"), STATUS_OK);
		CHECK_EQ(launch(kinds[k], TEST_FORK ? 8 : 4, 30000, transport_main, "mixed-rows"), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 4, 30000, transport_main, "mixed-turns"), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 3, 30000, transport_main, "mixed-uneven"), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 4, 30000, several_main, "shm"), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 4, 30000, several_main, "mixed-rows"), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 4, 30000, sleeps_main, "shm"), STATUS_OK);
		disagreement_suite(kinds[k], open_by_name, "shm", "(a block of ");
		CHECK_EQ(launch(kinds[k], 2, 30000, lonely_send, NULL), STATUS_OK);
		for (int n = 2; n <= 4; n++)
			CHECK_EQ(launch(kinds[k], n, 30000, run_ahead, NULL), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 3, 30000, at_once, NULL), STATUS_OK);
		struct captured c;
		launch_captured(kinds[k], 2, 30000, both_roots, NULL, &c);
		CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
		CHECK(has(c.text, "has  Broadcast from root 0 of 1 f32"));
		CHECK(has(c.text, "has  Broadcast from root 1 of 1 f32"));
		launch_captured(kinds[k], 2, 30000, late_mismatch, NULL, &c);
		CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
		CHECK(has(c.text, "has  Broadcast from root 0 of 1 f32"));
		CHECK(has(c.text, "has  Broadcast from root 0 of 2 f32"));
		launch_captured(kinds[k], 2, 30000, too_far, NULL, &c);
		CHECK_EQ(c.status, STATUS_USAGE);
		CHECK(has(c.text, "a team names device 9, but the job has 2 ranks"));
		launch_captured(kinds[k], 2, 30000, no_such, "nccl", &c);
		CHECK_EQ(c.status, STATUS_ABSENT);
		CHECK(has(c.text, "transport nccl moves data between GPUs: it is of --target=cuda\n"));
		launch_captured(kinds[k], 2, 30000, no_such, "mpi", &c);
		CHECK_EQ(c.status, STATUS_ABSENT);
	}
	return check_result();
}
