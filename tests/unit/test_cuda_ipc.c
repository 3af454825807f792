/* The transport between ranks that are processes of one host, here on one GPU. */
#include "test_cuda_transport.h"
#include <signal.h>
#include <sys/mman.h>

/* GPU memory of a rank, without the wrapper transport of the other suites. */
struct plain {
	struct rt_device *device;
	struct rt_transport *t;
	float *at;    /* on the GPU */
	int elements; /* of each buffer */
};

static enum status plain_open(struct rt_job *job, int buffers, int elements, struct plain *p)
{
	void *at;
	p->elements = elements;
	if (cuda_open(job, &p->device) != STATUS_OK ||
	    cuda_transport_open(job, TRANSPORT_CUDA_IPC, false, false, p->device, &p->t) != STATUS_OK ||
	    rt_device_alloc(p->device, (size_t)buffers * (size_t)elements * sizeof(float), "buffers", &at) !=
	        STATUS_OK ||
	    open_teams(p->t) != STATUS_OK)
		return rt_job_status(job);
	p->at = at;
	return STATUS_OK;
}

static void plain_close(struct plain *p)
{
	rt_job_barrier(p->t->job, "the end");
	rt_transport_close(p->t);
	if (p->at)
		rt_device_free(p->device, p->at);
	rt_device_close(p->device);
}

static float *buffer_of(const struct plain *p, int buffer)
{
	return p->at + (size_t)buffer * (size_t)p->elements;
}

/* Returns element i of buffer b of rank r. */
static float value_of(int r, int b, int i)
{
	return (float)(r * 1000 + b * 10 + i % 7);
}

/* Fills buffer b with the values of rank r. */
static void fill_as(struct plain *p, int b, int r)
{
	float *x = malloc((size_t)p->elements * sizeof *x);
	for (int i = 0; i < p->elements; i++)
		x[i] = value_of(r, b, i);
	p->device->ops->async->upload(p->device, buffer_of(p, b), x, (size_t)p->elements * sizeof *x);
	free(x);
}

static void fill(struct plain *p, int b)
{
	fill_as(p, b, p->t->job->rank);
}

/* Counts the elements in which buffer b differs from buffer `of` of rank r. */
static int differs(struct plain *p, int b, int r, int of)
{
	float *x = malloc((size_t)p->elements * sizeof *x);
	int wrong = 0;
	p->device->ops->async->download(p->device, x, buffer_of(p, b), (size_t)p->elements * sizeof *x);
	for (int i = 0; i < p->elements; i++)
		wrong += x[i] != value_of(r, of, i);
	if (wrong)
		printf("rank %d: buffer %d: %g in place of %g\n", p->t->job->rank, b, x[0],
		       value_of(r, of, 0));
	free(x);
	return wrong;
}

static enum status message(struct plain *p, bool send, int peer, uint32_t channel, uint64_t sequence, int b,
                           struct rt_request **out)
{
	struct rt_p2p m = {.send = send,
	                   .peer = peer,
	                   .channel = channel,
	                   .sequence = sequence,
	                   .dtype = DTYPE_F32,
	                   .count = p->elements,
	                   .data = buffer_of(p, b)};
	return rt_transport_start_p2p(p->t, &m, out);
}

/* ---- the exchange of handles */

/* Rank 1 is a second late with its first message about its memory. */
static int late(struct rt_job *job, void *arg)
{
	(void)arg;
	static const int both[] = {0, 1};
	struct plain p;
	struct rt_request *r[3];
	int team, wrong = 0, other = 1 - job->rank;
	if (plain_open(job, 4, 1000, &p) != STATUS_OK || rt_transport_team(p.t, both, 2, &team) != STATUS_OK)
		return rt_job_status(job);
	fill(&p, 0);
	fill(&p, 2);
	if (job->rank == 1)
		usleep(1000000);
	struct rt_collective c = {.kind = COLLECTIVE_ALLREDUCE,
	                          .dtype = DTYPE_F32,
	                          .op = REDUCE_MAX,
	                          .team = team,
	                          .in = buffer_of(&p, 2),
	                          .out = buffer_of(&p, 3),
	                          .count = p.elements};
	wrong |= message(&p, true, other, 0, 0, 0, &r[0]) != STATUS_OK;
	wrong |= message(&p, false, other, 0, 0, 1, &r[1]) != STATUS_OK;
	wrong |= rt_transport_start(p.t, &c, &r[2]) != STATUS_OK;
	for (int k = 0; k < 3; k++)
		wrong |= finish(p.t, r[k]);
	wrong |= differs(&p, 1, other, 0) | differs(&p, 3, 1, 2);
	plain_close(&p);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* Rank 0 frees its memory and allocates it again each time, rank 1 does not: rank 1's knowledge of rank 0 is
 * out of date, rank 0's of rank 1 is not. */
static int alone(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { TIMES = 6 };
	static const int both[] = {0, 1};
	struct plain p;
	struct rt_request *r[3];
	int team, wrong = 0, other = 1 - job->rank;
	if (plain_open(job, 3 + TIMES, 5000, &p) != STATUS_OK ||
	    rt_transport_team(p.t, both, 2, &team) != STATUS_OK)
		return rt_job_status(job);
	for (int k = 0; k < TIMES && !wrong; k++) {
		fill(&p, 3 + k);
		struct rt_collective c = {.kind = COLLECTIVE_BROADCAST,
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .in = buffer_of(&p, 3 + k),
		                          .out = buffer_of(&p, 2),
		                          .count = p.elements};
		wrong |= message(&p, true, other, 0, (uint64_t)k, 3 + k, &r[0]) != STATUS_OK;
		wrong |= message(&p, false, other, 0, (uint64_t)k, 1, &r[1]) != STATUS_OK;
		wrong |= rt_transport_start(p.t, &c, &r[2]) != STATUS_OK;
		for (int i = 0; i < 3; i++)
			wrong |= finish(p.t, r[i]);
		wrong |= differs(&p, 1, other, 3 + k) | differs(&p, 2, 0, 3 + k);
		if (job->rank == 1)
			continue;
		void *at;
		rt_device_free(p.device, p.at);
		rt_device_alloc(p.device, (size_t)(3 + TIMES) * (size_t)p.elements * sizeof(float), "buffers",
		                &at);
		p.at = at;
	}
	plain_close(&p);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- many at once */

/* Two messages of one pair in one batch, with the same number on two channels, received in the other order
 * after both have arrived. */
static int batch(struct rt_job *job, void *arg)
{
	(void)arg;
	struct plain p;
	struct rt_request *r[2];
	int wrong = 0, sends = job->rank == 0;
	if (plain_open(job, 4, 3000, &p) != STATUS_OK)
		return rt_job_status(job);
	fill(&p, 0);
	fill(&p, 1);
	for (int k = 0; k < 2; k++) {
		uint32_t channel = (uint32_t)(sends ? k : 1 - k);
		int b = (int)channel + (sends ? 0 : 2);
		if (!sends && k == 0)
			rt_job_barrier(job, "the messages");
		wrong |= message(&p, sends, 1 - job->rank, channel, 7, b, &r[k]) != STATUS_OK;
	}
	if (sends)
		rt_job_barrier(job, "the messages");
	for (int k = 0; k < 2; k++)
		wrong |= finish(p.t, r[k]);
	if (!sends)
		wrong |= differs(&p, 2, 0, 0) | differs(&p, 3, 0, 1);
	plain_close(&p);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* One rank is further ahead of the other than there are slots; then the same with collectives and turns. Rank
 * 0 reads their data late, because its GPU is busy and its host runs ahead. */
static int ahead(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { MESSAGES = 3 * IPC_SLOTS, TURNS = 3 * IPC_TURNS };
	static const int both[] = {0, 1};
	static const enum collective kinds[] = {COLLECTIVE_BROADCAST, COLLECTIVE_ALLREDUCE,
	                                        COLLECTIVE_REDUCE};
	static struct rt_request *r[MESSAGES];
	const struct rt_origin nowhere = {.iteration = -1};
	struct plain p;
	void *slow, *event;
	int team, wrong = 0, sends = job->rank == 0;
	if (plain_open(job, MESSAGES, 50, &p) != STATUS_OK ||
	    rt_transport_team(p.t, both, 2, &team) != STATUS_OK ||
	    rt_device_alloc(p.device, CHAIN_SLOW * sizeof(float), "what takes time", &slow) != STATUS_OK)
		return rt_job_status(job);
	struct chain h = {.device = p.device, .t = p.t, .async = p.device->ops->async, .ok = true};
	h.async->stream_new(p.device, &h.stream);
	for (int k = 0; sends && k < MESSAGES; k++)
		fill(&p, k);
	rt_job_barrier(job, "the data");
	if (!sends)
		usleep(100000);
	for (int k = 0; k < MESSAGES; k++)
		wrong |= message(&p, sends, 1 - job->rank, 0, (uint64_t)k, k, &r[k]) != STATUS_OK;
	for (int k = 0; k < MESSAGES; k++)
		wrong |= finish(p.t, r[k]);
	for (int k = 0; k < MESSAGES; k++)
		wrong |= differs(&p, k, 0, k);
	for (int k = 0; k < TURNS; k++)
		fill(&p, k);
	if (!sends)
		usleep(100000);
	for (int k = 0; k < 20; k++)
		chain_slow(&h, 0, slow);
	h.async->record(p.device, h.stream, nowhere, &event);
	for (int k = 0; k < TURNS; k++) {
		struct rt_collective c = {.kind = kinds[k % 3],
		                          .dtype = DTYPE_F32,
		                          .op = REDUCE_MAX,
		                          .team = team,
		                          .root = 1,
		                          .in = buffer_of(&p, k),
		                          .out = buffer_of(&p, k),
		                          .count = p.elements,
		                          .after = event};
		wrong |= rt_transport_start(p.t, &c, &r[k]) != STATUS_OK;
	}
	for (int k = 0; k < TURNS; k++)
		wrong |= finish(p.t, r[k]);
	for (int k = 0; k < TURNS; k++)
		wrong |= differs(&p, k, kinds[k % 3] == COLLECTIVE_REDUCE ? job->rank : 1, k);
	h.async->release(p.device, event);
	h.async->stream_free(p.device, h.stream);
	rt_device_free(p.device, slow);
	plain_close(&p);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- graphs */

enum { FEW = IPC_TURNS /* places of a stage */, MANY = FEW + 4, REPLAYS = 12 };

static _Atomic int *ended; /* replays that rank 0 has ended, in shared memory */

/* Captures n broadcasts of rank 0, one for each buffer, and a message if there are many. */
static void *capture_drift(struct chain *h, struct plain *p, int team, int n, uint64_t sequence)
{
	struct rt_request *r[MANY];
	int rank = h->t->job->rank;
	void *graph = NULL;
	h->ok &= h->t->ops->graph_begin(h->t, h->stream) == STATUS_OK;
	void *after = chain_event(h);
	for (int k = 0; k < n && h->ok; k++) {
		struct rt_collective c = {.kind = COLLECTIVE_BROADCAST,
		                          .dtype = DTYPE_F32,
		                          .team = team,
		                          .in = buffer_of(p, k),
		                          .out = buffer_of(p, k),
		                          .count = p->elements,
		                          .after = after};
		h->ok &= rt_transport_start(h->t, &c, &r[k]) == STATUS_OK;
	}
	chain_await(h, r, n);
	h->async->release(h->device, after);
	if (n == MANY) {
		struct rt_p2p m = {.send = rank == 0,
		                   .peer = 1 - rank,
		                   .sequence = sequence,
		                   .dtype = DTYPE_F32,
		                   .count = p->elements,
		                   .data = buffer_of(p, n),
		                   .after = chain_event(h)};
		h->ok = h->ok && rt_transport_start_p2p(h->t, &m, &r[0]) == STATUS_OK;
		chain_await(h, r, 1);
		h->async->release(h->device, m.after);
	}
	h->ok = h->ok && h->t->ops->graph_end(h->t, h->stream, &graph) == STATUS_OK;
	return graph;
}

/* Replays two graphs in turn with other data each time, while the ranks come late at random. arg: number of broadcasts.
 * If they are few and staged, rank 0 waits for nothing, and rank 1 begins when rank 0 has ended its first replay. */
static int drift(struct rt_job *job, void *arg)
{
	static const int both[] = {0, 1};
	int n = *(const int *)arg, buffers = n + (n == MANY);
	bool alone = n == FEW && !teams_before;
	struct plain p;
	void *graph[2];
	int team, wrong = 0;
	if (plain_open(job, MANY + 1, 50, &p) != STATUS_OK ||
	    rt_transport_team(p.t, both, 2, &team) != STATUS_OK)
		return rt_job_status(job);
	struct chain h = {.device = p.device, .t = p.t, .async = p.device->ops->async, .ok = true};
	h.async->stream_new(p.device, &h.stream);
	for (int k = 0; k < 2; k++)
		graph[k] = capture_drift(&h, &p, team, n, (uint64_t)k);
	for (int us = 0; job->rank == 1 && alone && !*ended && us < 5000000; us += 1000)
		usleep(1000);
	CHECK(job->rank == 0 || !alone || *ended);
	for (int k = 0; k < REPLAYS && h.ok; k++) {
		for (int b = 0; job->rank == 0 && b < buffers; b++)
			fill_as(&p, b, k);
		usleep((unsigned)(k * 7 + job->rank * 5) % 4 * 1000);
		h.ok &= h.t->ops->replay(h.t, h.stream, graph[k % 2]) == STATUS_OK;
		chain_finish(&h);
		*ended += job->rank == 0;
		for (int b = 0; b < buffers; b++)
			wrong |= differs(&p, b, k, b);
	}
	for (int k = 0; k < 2; k++)
		h.t->ops->graph_free(h.t, graph[k]);
	h.async->stream_free(p.device, h.stream);
	wrong |= !h.ok;
	plain_close(&p);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

static void test_drift(void)
{
	static int n[] = {FEW, MANY};
	ended = mmap(NULL, sizeof *ended, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (teams_before = 0; teams_before <= IPC_STAGES; teams_before += IPC_STAGES)
		for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
			*ended = 0;
			CHECK_EQ(launch(RT_BOOT_FORK, 2, 20000, drift, &n[k]), STATUS_OK);
		}
	teams_before = 0;
	munmap((void *)ended, sizeof *ended);
}

/* ---- orders */

/* Two teams with the same ranks, which reach them in different orders. On a GPU with one queue each rank has
 * the other's first collective after its own. arg: kind of collective. */
static int circle(struct rt_job *job, void *arg)
{
	static const int both[] = {0, 1};
	struct plain p;
	struct rt_request *r[2];
	int team[2], wrong = 0;
	if (plain_open(job, 6, 1000, &p) != STATUS_OK ||
	    rt_transport_team(p.t, both, 2, &team[0]) != STATUS_OK ||
	    rt_transport_team(p.t, both, 2, &team[1]) != STATUS_OK)
		return rt_job_status(job);
	fill(&p, 0);
	fill(&p, 3);
	for (int k = 0; k < 2; k++) {
		int which = job->rank ? 1 - k : k;
		struct rt_collective c = {.kind = *(const enum collective *)arg,
		                          .dtype = DTYPE_F32,
		                          .op = REDUCE_MAX,
		                          .team = team[which],
		                          .in = buffer_of(&p, 3 * which),
		                          .out = buffer_of(&p, 3 * which + 1),
		                          .count = p.elements};
		if (job->rank == 0 && k == 0)
			rt_job_barrier(job, "rank 1 in team 1");
		if (job->rank == 1 && k == 1)
			rt_job_barrier(job, "rank 0 in both teams");
		wrong |= rt_transport_start(p.t, &c, &r[k]) != STATUS_OK;
		if (job->rank == 1 && k == 0)
			rt_job_barrier(job, "rank 1 in team 1");
		if (job->rank == 0 && k == 1)
			rt_job_barrier(job, "rank 0 in both teams");
	}
	for (int k = 0; k < 2; k++)
		wrong |= finish(p.t, r[k]);
	for (int which = 0; which < 2; which++)
		wrong |=
		    *(const enum collective *)arg == COLLECTIVE_ALLREDUCE
		        ? differs(&p, 3 * which + 1, 1, 3 * which)
		        : differs(&p, 3 * which + 1, 0, 3 * which) | differs(&p, 3 * which + 2, 1, 3 * which);
	plain_close(&p);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- the end of a rank */

/* Rank 1 ends after it has offered data that its GPU will never have ready. Rank 0 has issued the copy, or is
 * too late to map the memory; then it closes everything. */
struct end {
	bool moves;
	int closed; /* rank 0 has reached the end */
};

static int killed(struct rt_job *job, void *arg)
{
	struct end *end = arg;
	struct plain p;
	struct rt_request *r;
	void *slow, *event = NULL;
	const struct rt_origin nowhere = {.iteration = -1};
	if (plain_open(job, 1, 1000, &p) != STATUS_OK ||
	    rt_device_alloc(p.device, CHAIN_SLOW * sizeof(float), "what takes time", &slow) != STATUS_OK)
		return rt_job_status(job);
	struct chain h = {.device = p.device, .t = p.t, .async = p.device->ops->async, .ok = true};
	h.async->stream_new(p.device, &h.stream);
	for (int k = 0; job->rank == 1 && k < 200; k++)
		chain_slow(&h, 1, slow);
	if (job->rank == 1)
		h.async->record(p.device, h.stream, nowhere, &event);
	struct rt_p2p m = {.send = job->rank == 1,
	                   .peer = 1 - job->rank,
	                   .dtype = DTYPE_F32,
	                   .count = p.elements,
	                   .data = p.at,
	                   .after = event};
	if (end->moves || job->rank == 1)
		rt_transport_start_p2p(p.t, &m, &r);
	if (end->moves && job->rank == 0)
		chain_await(&h, &r, 1);
	rt_job_barrier(job, "the message");
	if (job->rank == 1)
		kill(getpid(), SIGKILL);
	if (!end->moves)
		usleep(50000);
	if (!end->moves && rt_transport_start_p2p(p.t, &m, &r) == STATUS_OK)
		finish(p.t, r);
	while (rt_job_status(job) == STATUS_OK)
		usleep(1000);
	plain_close(&p);
	end->closed = 1;
	return rt_job_status(job);
}

static void test_killed(void)
{
	struct end *end = mmap(NULL, sizeof *end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int moves = 0; moves < 2; moves++) {
		struct captured c;
		*end = (struct end){.moves = moves};
		launch_captured(RT_BOOT_FORK, 2, 20000, killed, end, &c);
		CHECK(has(c.text, "rank 1 was killed by signal 9"));
		CHECK_EQ(end->closed, 1);
	}
}

int main(void)
{
	static const int sizes[] = {1, 2, 4};
	static enum collective kinds[] = {COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLGATHER};
	struct captured c;
	struct named any = {"auto", "cuda-ipc"}, own = {"auto", "nccl"}, this = {"cuda-ipc", "cuda-ipc"};
	if (!TEST_FORK)
		return 77;
	setenv("HIRC_MOCK_DELAY_US", "30", 0);
	setenv("HIRC_MOCK_QUEUES", "1", 1);
	CHECK_EQ(launch(RT_BOOT_FORK, CHAIN_RANKS, 10000, chain_main, "cuda-ipc"), STATUS_OK);
	test_drift();
	for (teams_before = 0; teams_before <= IPC_STAGES; teams_before += IPC_STAGES) {
		CHECK_EQ(launch(RT_BOOT_FORK, 2, 10000, ahead, NULL), STATUS_OK);
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			CHECK_EQ(launch(RT_BOOT_FORK, 2, 10000, circle, &kinds[i]), STATUS_OK);
	}
	teams_before = 0;
	unsetenv("HIRC_MOCK_QUEUES");
	test_drift();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		CHECK_EQ(launch(RT_BOOT_FORK, sizes[i], 30000, cuda_transport_main, "cuda-ipc"), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_FORK, CHAIN_RANKS, 30000, chain_main, "cuda-ipc"), STATUS_OK);
	for (teams_before = 0; teams_before <= IPC_STAGES; teams_before += IPC_STAGES)
		CHECK_EQ(launch(RT_BOOT_FORK, KINDS_RANKS, 30000, kinds_main, "cuda-ipc"), STATUS_OK);
	teams_before = 0;
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 20000, late, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 20000, alone, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 20000, batch, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 20000, ahead, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 5000, crossed, "cuda-ipc"), STATUS_OK);

	disagreement_suite(RT_BOOT_FORK, staged_open, "cuda-ipc", "(a block of 12 bytes)");
	uneven_suite(RT_BOOT_FORK, "cuda-ipc");
	CHECK_EQ(launch(RT_BOOT_FORK, 3, 5000, one_fails, "cuda-ipc"), STATUS_WRONG);
	test_killed();
	for (int by_kernel = 0; by_kernel < 2; by_kernel++) {
		staged_p2p = (struct cuda_p2p){.put = true, .by_kernel = by_kernel};
		teams_before = by_kernel * IPC_STAGES; /* then no stage is left */
		CHECK_EQ(launch(RT_BOOT_FORK, 3, 30000, cuda_transport_main, "cuda-ipc"), STATUS_OK);
		CHECK_EQ(launch(RT_BOOT_FORK, 2, 5000, crossed, "cuda-ipc"), STATUS_OK);
	}

	CHECK_EQ(launch(RT_BOOT_FORK, 2, 5000, named, &any), STATUS_OK);
	setenv("HIRC_MOCK_DEVICES", "2", 1);
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 5000, named, &own), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_FORK, 2, 5000, named, &this), STATUS_OK);
	launch_captured(RT_BOOT_THREAD, 2, 5000, named, &this, &c);
	CHECK_EQ(c.status, STATUS_ABSENT);
	CHECK(has(c.text, "transport cuda-ipc needs ranks that are processes; those that are threads of one "
	                  "process have --transport=peers\n"));
	launch_captured(RT_BOOT_THREAD, 3, 5000, named, &any, &c);
	CHECK_EQ(c.status, STATUS_ABSENT);
	CHECK(has(c.text,
	          "some ranks share a GPU, not all: ranks that are processes can, with --bootstrap=fork\n"));
	return check_result();
}
