/* Memory that the GPUs of all ranks map: files between processes, pieces side by side in any order, and
 * barriers between writers and readers with late streams. LABELS: tsan */
#include "cuda/handles.h"
#include "test_cuda_transport.h"

enum {
	UNIT = RT_HEAP_UNIT,
	PIECES = 3,
	ROUNDS = 6,
	RANKS = 3,
	ELEMENTS = UNIT / (int)sizeof(float),
	FILES = 150,   /* files of each rank: several packets */
	PROCESSES = 14 /* processes that send at once: more than fit into the queue of a socket */
};
static const size_t piece[PIECES] = {UNIT, 2 * UNIT, UNIT};

/* ---- files */

static int file_number(int rank, int k)
{
	return rank * 1000 + k;
}

static int files_main(struct rt_job *job, void *arg)
{
	(void)arg;
	static int own[FILES], all[PROCESSES * FILES];
	int wrong = 0;
	for (int k = 0; k < FILES; k++) {
		own[k] = memfd_create("file", MFD_CLOEXEC);
		wrong += ftruncate(own[k], file_number(job->rank, k)) != 0;
	}
	if (job->rank == 1)
		usleep(100000);
	enum status status = cuda_handles_exchange(job, own, FILES, all);
	for (int r = 0; r < job->size && status == STATUS_OK; r++)
		for (int k = 0; k < FILES; k++) {
			int file = all[r * FILES + k];
			bool right =
			    r == job->rank ? file == -1 : lseek(file, 0, SEEK_END) == file_number(r, k);
			wrong += !right;
			if (file >= 0)
				close(file);
		}
	return status != STATUS_OK ? status : wrong ? STATUS_WRONG : STATUS_OK;
}

/* Rank 1 ends before it arrives: the others end, too. */
static int files_alone(struct rt_job *job, void *arg)
{
	(void)arg;
	int own = 0, all[RANKS];
	if (job->rank == 1)
		return STATUS_WRONG;
	return cuda_handles_exchange(job, &own, 1, all);
}

/* ---- the heap */

struct heap {
	struct rt_device *device;
	const struct rt_async_ops *async;
	struct rt_transport *t;
	char *own; /* this rank's pieces */
	float *to; /* by round: the data that were read */
	void *stream;
	int team;
	bool ok;
};

static bool heap_open(struct rt_job *job, const char *name, struct heap *h)
{
	static const int all[RANKS] = {0, 1, 2};
	void *own = NULL, *to = NULL;
	*h = (struct heap){.ok = true};
	h->ok =
	    cuda_open(job, &h->device) == STATUS_OK &&
	    cuda_transport_open(job, transport_kind_find(name), false, true, h->device, &h->t) == STATUS_OK &&
	    rt_transport_team(h->t, all, RANKS, &h->team) == STATUS_OK &&
	    rt_transport_heap(h->t, h->device, piece, PIECES, "pieces", &own) == STATUS_OK &&
	    rt_transport_alloc(h->t, h->device, ROUNDS * RANKS * sizeof(float), "buffers", &to) == STATUS_OK;
	h->async = h->device->ops->async;
	h->own = own;
	h->to = to;
	h->ok = h->ok && h->async->stream_new(h->device, &h->stream) == STATUS_OK;
	return h->ok;
}

static enum status heap_close(struct heap *h, int wrong)
{
	rt_job_barrier(h->t->job, "the end");
	h->async->stream_free(h->device, h->stream);
	rt_transport_free(h->t, h->device, h->to);
	rt_transport_close(h->t);
	wrong |= h->device->bytes_now != 0;
	rt_device_close(h->device);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

static void give(struct heap *h, enum rt_kernel kernel, struct rt_view out, struct rt_view in, double value)
{
	char why[RT_WHY_BYTES] = "";
	struct rt_task task = {.kernel = kernel,
	                       .out = out,
	                       .in = {in},
	                       .scalar = {{.f = value, .i = (int64_t)value}},
	                       .scalars = kernel == RT_TASK_FILL};
	h->ok = h->ok && h->async->launch(h->device, h->stream, &task, (struct rt_origin){.iteration = -1},
	                                  why, NULL) == STATUS_OK;
}

/* Makes later work of the stream wait for the earlier work of all ranks' streams. */
static void fence(struct heap *h)
{
	const struct rt_origin at = {.iteration = -1};
	struct rt_request *r;
	void *after = NULL, *event = NULL;
	bool moved = false;
	h->ok = h->ok && h->async->record(h->device, h->stream, at, &after) == STATUS_OK;
	struct rt_collective c = {
	    .kind = COLLECTIVE_BARRIER, .dtype = DTYPE_U8, .team = h->team, .after = after};
	h->ok = h->ok && rt_transport_start(h->t, &c, &r) == STATUS_OK;
	if (after)
		h->async->release(h->device, after);
	while (h->ok && !event)
		h->ok = h->t->ops->progress(h->t, &moved) == STATUS_OK &&
		        h->t->ops->issued(h->t, r, &event) == STATUS_OK &&
		        rt_job_status(h->t->job) == STATUS_OK;
	h->ok = h->ok && h->async->await(h->device, h->stream, event, at) == STATUS_OK;
	if (event)
		h->async->release(h->device, event);
}

static float value_of(int rank, int round)
{
	return (float)(100 * (rank + 1) + round);
}

/* In each round a rank writes its piece, and reads the last element of all pieces from a view, in its own
 * order. The host is far ahead of the GPU. arg: the transport. */
static int rounds_main(struct rt_job *job, void *arg)
{
	struct heap h;
	int order[RANKS], wrong = 0;
	int64_t all = ELEMENTS, ranks = RANKS;
	void *view = NULL, *again = NULL;
	float got[ROUNDS * RANKS];
	for (int k = 0; k < RANKS; k++)
		order[k] = (job->rank + k) % RANKS;
	if (!heap_open(job, arg, &h))
		return rt_job_status(job);
	size_t offset = piece[0] + piece[1];
	h.ok = rt_transport_side_by_side(h.t, order, RANKS, offset, UNIT, &view) == STATUS_OK &&
	       rt_transport_side_by_side(h.t, order, RANKS, offset, UNIT, &again) == STATUS_OK;
	wrong |= view != again;
	struct rt_view out = rt_view_dense(h.own + offset, DTYPE_F32, 1, &all),
	               ends = {.data = (float *)view + ELEMENTS - 1,
	                       .dtype = DTYPE_F32,
	                       .nd = 1,
	                       .n = {RANKS},
	                       .stride = {ELEMENTS}};
	for (int i = 0; i < ROUNDS; i++) {
		give(&h, RT_TASK_FILL, out, out, value_of(job->rank, i));
		fence(&h);
		give(&h, RT_TASK_COPY, rt_view_dense(h.to + i * RANKS, DTYPE_F32, 1, &ranks), ends, 0);
		fence(&h);
	}
	for (bool idle = false; h.ok && !idle;)
		h.ok = h.async->is_idle(h.device, &idle) == STATUS_OK;
	h.ok = h.ok && h.async->download(h.device, got, h.to, sizeof got) == STATUS_OK;
	for (int i = 0; i < ROUNDS * RANKS && h.ok; i++) {
		float want = value_of(order[i % RANKS], i / RANKS);
		if (got[i] != want) {
			printf("rank %d: %g in place of %g, round %d\n", job->rank, got[i], want, i / RANKS);
			wrong = 1;
		}
	}
	return h.ok ? heap_close(&h, wrong) : rt_job_status(job);
}

/* Data in the heap are also sent and gathered; a rank writes to another's memory through a view; unwritten
 * memory is NaN. arg: the transport. */
static int moves_main(struct rt_job *job, void *arg)
{
	enum { N = 5 };
	struct heap h;
	int wrong = 0, next = (job->rank + 1) % RANKS, before = (job->rank + RANKS - 1) % RANKS;
	float own[N], got[RANKS * N];
	void *view;
	if (!heap_open(job, arg, &h))
		return rt_job_status(job);
	h.async->download(h.device, got, h.own + piece[0] + piece[1] - sizeof *got, sizeof *got);
	wrong |= got[0] == got[0];
	for (int k = 0; k < N; k++)
		own[k] = value_of(job->rank, k);
	h.async->upload(h.device, h.own + piece[0], own, sizeof own); /* the second piece */
	struct rt_collective c = {.kind = COLLECTIVE_ALLGATHER,
	                          .dtype = DTYPE_F32,
	                          .team = h.team,
	                          .in = h.own + piece[0],
	                          .out = h.own,
	                          .count = N};
	wrong |= rt_transport_run(h.t, &c) != STATUS_OK;
	h.async->download(h.device, got, h.own, sizeof got);
	for (int k = 0; k < RANKS * N; k++)
		wrong |= got[k] != value_of(k / N, k % N);
	struct rt_request *r[2];
	for (int k = 0; k < 2; k++) {
		struct rt_p2p p = {.send = k == 0,
		                   .peer = k == 0 ? next : before,
		                   .dtype = DTYPE_F32,
		                   .count = N,
		                   .data = k == 0 ? h.own + piece[0] : (char *)h.to};
		wrong |= rt_transport_start_p2p(h.t, &p, &r[k]) != STATUS_OK;
	}
	wrong |= finish(h.t, r[0]) | finish(h.t, r[1]);
	h.async->download(h.device, got, h.to, sizeof own);
	for (int k = 0; k < N; k++)
		wrong |= got[k] != value_of(before, k);
	rt_job_barrier(job, "what is written to others");
	if (rt_transport_side_by_side(h.t, &next, 1, 0, UNIT, &view) != STATUS_OK)
		return rt_job_status(job);
	h.async->upload(h.device, view, own, sizeof own);
	rt_job_barrier(job, "what others have written");
	h.async->download(h.device, got, h.own, sizeof own);
	for (int k = 0; k < N; k++)
		wrong |= got[k] != value_of(before, k);
	return heap_close(&h, wrong);
}

/* cuda-ipc does not send from a view. */
static int view_main(struct rt_job *job, void *arg)
{
	static const int all[RANKS] = {0, 1, 2};
	struct heap h;
	void *view;
	if (!heap_open(job, arg, &h) ||
	    rt_transport_side_by_side(h.t, all, RANKS, 0, UNIT, &view) != STATUS_OK)
		return rt_job_status(job);
	struct rt_collective c = {.kind = COLLECTIVE_BROADCAST,
	                          .dtype = DTYPE_F32,
	                          .team = h.team,
	                          .in = view,
	                          .out = h.to,
	                          .count = 3};
	enum status status = rt_transport_run(h.t, &c);
	return status == STATUS_OK ? heap_close(&h, 0) : status;
}

static void both(int (*rank_main)(struct rt_job *, void *))
{
	CHECK_EQ(launch(RT_BOOT_THREAD, RANKS, 20000, rank_main, "peers"), STATUS_OK);
	if (TEST_FORK)
		CHECK_EQ(launch(RT_BOOT_FORK, RANKS, 20000, rank_main, "cuda-ipc"), STATUS_OK);
}

int main(void)
{
	struct captured c;
	setenv("HIRC_MOCK_DELAY_US", "300", 0);
	if (TEST_FORK) {
		CHECK_EQ(launch(RT_BOOT_FORK, PROCESSES, 20000, files_main, NULL), STATUS_OK);
		CHECK_EQ(launch(RT_BOOT_FORK, RANKS, 20000, files_alone, NULL), STATUS_WRONG);
		/* all ranks on one GPU, and one GPU each: a heap requires processes that can map each other's
		 * memory */
		launch_captured(RT_BOOT_FORK, RANKS, 20000, view_main, "auto", &c);
		CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
		CHECK(has(c.text, "transport cuda-ipc sends no view of several ranks' memory: send a copy, "
		                  "as `X = set(view)` makes one\n"));
		setenv("HIRC_MOCK_DEVICES", "3", 1);
		CHECK_EQ(launch(RT_BOOT_FORK, RANKS, 20000, moves_main, "auto"), STATUS_OK);
		unsetenv("HIRC_MOCK_DEVICES");
	}
	both(moves_main);
	both(rounds_main);
	setenv("HIRC_MOCK_QUEUES", "1", 1);
	if (TEST_FORK)
		CHECK_EQ(launch(RT_BOOT_FORK, RANKS, 20000, rounds_main, "cuda-ipc"), STATUS_OK);
	unsetenv("HIRC_MOCK_QUEUES");
	return check_result();
}
