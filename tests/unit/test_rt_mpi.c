/* LABELS: mpi
 * The mpi bootstrap and the transports under mpirun: the program starts itself with 1, 2, 3, 4 and 8 ranks,
 * also on several hosts, which are names of this one (a launch agent that takes another in a name space of
 * its own).
 */
#ifdef HIRC_HAVE_MPI
#include "rt/queue.h"
#include "test_rt_memory.h"
#include "test_rt_transport.h"
#include <sys/wait.h>

/* A recv without a send: exit code 4, and rank 0's statement is named. */
static int stuck_main(struct rt_job *job, void *arg)
{
	struct rt_device *device;
	struct rt_transport *transport;
	struct rt_engine *e;
	float x = 0;
	if (rt_device_open(job, "cpu", &device) != STATUS_OK ||
	    rt_transport_open(job, transport_kind_find(arg), &transport) != STATUS_OK ||
	    rt_engine_new(job, "lanes", device, transport, &e) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_stream *s = rt_stream_new(e, "main");
	struct rt_p2p p = {.peer = 1,
	                   .dtype = DTYPE_F32,
	                   .count = 1,
	                   .data = &x,
	                   .at = {rt_label_add(job, "recv(b, peer=1)", "two_streams.hir:12"), -1}};
	if (job->rank == 0)
		rt_submit_wait(e, s, rt_submit_p2p(e, s, &p), (struct rt_origin){0, -1});
	enum status status = rt_drain(e);
	if (status == STATUS_OK)
		status = rt_job_barrier(job, "the end");
	rt_engine_free(e);
	rt_transport_close(transport);
	rt_device_close(device);
	return status;
}

static int fails_main(struct rt_job *job, void *arg)
{
	(void)arg;
	if (job->rank != 1)
		return rt_job_barrier(job, "what never comes");
	rt_job_error(job, "no luck");
	return STATUS_DIAGNOSTICS;
}

static int memory_main(struct rt_job *job, void *arg)
{
	int wrong = barrier_main(job, arg);
	for (size_t i = 0; i < sizeof memory_sizes / sizeof *memory_sizes && !wrong; i++)
		wrong = peers_main(job, (void *)&memory_sizes[i]);
	return wrong;
}

/* A message of the wrong length is an error. */
static int short_main(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	float x[4] = {0};
	struct rt_request *r;
	if (rt_transport_open(job, transport_kind_find(arg), &t) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_p2p p = {.send = job->rank == 0,
	                   .peer = 1 - job->rank,
	                   .dtype = DTYPE_F32,
	                   .count = job->rank == 0 ? 2 : 4,
	                   .data = x};
	if (rt_transport_start_p2p(t, &p, &r) == STATUS_OK)
		finish(t, r);
	enum status status = rt_job_status(job);
	if (status == STATUS_OK)
		status = rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return status;
}

/* MPI refuses a rank that does not exist. Only rank 0 calls it, since ranks that find that another has failed
 * print nothing. */
static int broken_main(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	struct rt_request *r;
	char x = 0;
	if (rt_transport_open(job, transport_kind_find(arg), &t) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_p2p p = {.send = true, .peer = job->size, .dtype = DTYPE_U8, .count = 1, .data = &x};
	enum status status =
	    job->rank == 0 ? t->ops->start_p2p(t, &p, &r) /* hirc does not check this */ : STATUS_OK;
	rt_transport_close(t);
	return status;
}

/* On several hosts with several ranks each, auto is mixed. */
static int auto_main(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	enum status status = rt_transport_open(job, TRANSPORT_AUTO, &t);
	if (status != STATUS_OK)
		return status;
	bool is = t->ops->kind == transport_kind_find(arg);
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return is ? STATUS_OK : STATUS_WRONG;
}

/* Data move between hosts while the sender computes: it makes no call until the receiver has all data and
 * writes a file. */
enum { MOVED = 4 << 20, PATIENCE_US = 20000000 };

static int computes_main(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	struct rt_request *r;
	const char *received = getenv("HIRC_TEST_RECEIVED");
	if (!received || rt_transport_open(job, transport_kind_find(arg), &t) != STATUS_OK)
		return STATUS_INTERNAL;
	char *data = calloc(MOVED, 1);
	bool ok = true;
	struct rt_p2p p = {
	    .send = job->rank == 0, .peer = 1 - job->rank, .dtype = DTYPE_U8, .count = MOVED, .data = data};
	if (rt_transport_start_p2p(t, &p, &r) == STATUS_OK) {
		int64_t start = rt_clock_us();
		while (p.send && access(received, F_OK) != 0 && ok)
			ok = rt_clock_us() - start < PATIENCE_US;
		finish(t, r);
	}
	if (!p.send)
		fclose(fopen(received, "w"));
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	free(data);
	return ok ? STATUS_OK : STATUS_STUCK;
}

/* An MPI that allows calls only from the first thread. */
static bool funneled;

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int code = PMPI_Init_thread(argc, argv, required, provided);
	*provided = funneled ? 1 /* MPI_THREAD_FUNNELED */ : *provided;
	return code;
}

/* Returns the exit code of the job. mpirun of Open MPI 4.1 itself crashes now and then when a job fails (a
 * race in PMIx_server_finalize); then its code is 128 or more, and the job is run again. */
static int run(const char *self, const char *options, const char *what, struct captured *c)
{
	char command[1024];
	int code = -1;
	snprintf(command, sizeof command, "mpirun --oversubscribe %s%s %s %s 2>&1",
	         options[0] == '-' ? "" : "-np ", options, self, what);
	for (int tries = 0; tries < 4 && (code < 0 || code >= 128); tries++) {
		FILE *f = popen(command, "r");
		size_t n = f ? fread(c->text, 1, sizeof c->text - 1, f) : 0;
		c->text[n] = 0;
		int status = f ? pclose(f) : -1;
		code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
	return code;
}

static void start_on_hosts(const char *self)
{
	static const struct {
		const char *hosts, *what;
	} runs[] = {
	    {"h0:2,h1:2 -np 4", "mixed"},      {"h0:2,h1:2 -np 4", "sleeps"},
	    {"h0:1,h1:2 -np 3", "mixed"},      {"h0:2,h1:2,h2:2 -np 6", "mixed"},
	    {"h0:2,h1:2 -np 4", "auto-mixed"}, {"h0:1,h1:1 -np 2", "auto-mpi"},
	    {"h0:3 -np 3", "auto-mpi"},        {"h0:1,h1:1 -np 2", "computes"},
	};
	const char *root = getenv("HIRC_ROOT");
	char command[512], options[512], received[] = "/tmp/hirc-XXXXXX";
	struct captured c;
	snprintf(command, sizeof command, "%s/tests/host_agent.sh --works", root ? root : ".");
	if (system(command) != 0) {
		printf("several hosts: not tested, there are no name spaces or HIRC_ROOT is not set\n");
		return;
	}
	int file = mkstemp(received);
	if (file >= 0)
		close(file);
	setenv("HIRC_TEST_RECEIVED", received, 1);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		unlink(received);
		snprintf(options, sizeof options, "--mca plm_rsh_agent %s/tests/host_agent.sh --host %s",
		         root ? root : ".", runs[i].hosts);
		int status = run(self, options, runs[i].what, &c);
		CHECK_EQ(status, 0);
		if (status)
			printf("%s %s: %s", runs[i].hosts, runs[i].what, c.text);
	}
	unlink(received);
}

static int start_all(const char *self)
{
	static const char *const sizes[] = {"1", "2", "3", "4", "8"};
	struct captured c;
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
	setenv("ASAN_OPTIONS", "fast_unwind_on_malloc=0",
	       1); /* so that lsan.supp matches libraries in stacks */
	if (system("mpirun --version >/dev/null 2>&1") != 0) {
		printf("skipped: no mpirun\n");
		return 77;
	}
	for (int i = 0; i < 5; i++)
		for (int shm = 0; shm < 2; shm++) {
			if ((shm && i != 0 && i != 3) || (getenv("HIRC_FEW") && i != 2 && i != 3))
				continue; /* test_rt_transport tests all of them */
			int status = run(self, sizes[i], shm ? "shm" : "mpi", &c);
			CHECK_EQ(status, 0);
			if (status)
				printf("%s", c.text);
		}
	for (int i = 1; i < 4; i++)
		CHECK_EQ(run(self, sizes[i], "memory", &c), 0);
	start_on_hosts(self);
	static const char *const stuck[] = {"stuck-mpi", "stuck-shm"};
	for (int i = 0; i < 2; i++) {
		int status = run(self, "2", stuck[i], &c);
		CHECK_EQ(status, STATUS_STUCK);
		if (status != STATUS_STUCK)
			printf("%s", c.text);
		CHECK(
		    has(c.text,
		        "rank 0 message: waiting in  recv(b, peer=1)  (two_streams.hir:12)  for  rank 1\n"));
		CHECK(has(c.text, "rank 1: waiting for the end\n"));
	}
	CHECK_EQ(run(self, "3", "fails", &c), STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "hirc: rank 1: error: no luck\n"));
	CHECK_EQ(run(self, "2", "short", &c), STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "recv of 16 bytes, but rank 0 has sent 8\n"));
	CHECK_EQ(run(self, "2", "broken", &c), STATUS_INTERNAL);
	CHECK(has(c.text, "hirc: rank 0: error: MPI_Issend: MPI_ERR_RANK: invalid rank\n"));
	CHECK_EQ(run(self, "1", "funneled", &c), STATUS_ABSENT);
	CHECK(
	    has(c.text, "this MPI library does not allow calls from more than one thread (it gives level "));
	CHECK_EQ(run(self, "2", "size", &c), STATUS_USAGE);
	CHECK(has(c.text, "hirc: rank 0: error: 5 ranks are asked for, but the launcher has started 2\n"));
	return check_result();
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return start_all(argv[0]);
	const char *what = argv[1];
	funneled = strcmp(what, "funneled") == 0;
	bool stuck = strncmp(what, "stuck-", 6) == 0;
	int (*rank_main)(struct rt_job *, void *) = stuck                            ? stuck_main
	                                            : strcmp(what, "fails") == 0     ? fails_main
	                                            : strcmp(what, "short") == 0     ? short_main
	                                            : strcmp(what, "broken") == 0    ? broken_main
	                                            : strcmp(what, "sleeps") == 0    ? sleeps_main
	                                            : strcmp(what, "computes") == 0  ? computes_main
	                                            : strcmp(what, "memory") == 0    ? memory_main
	                                            : strncmp(what, "auto-", 5) == 0 ? auto_main
	                                                                             : transport_main;
	const char *transport = stuck || strncmp(what, "auto-", 5) == 0 ? strchr(what, '-') + 1
	                        : strcmp(what, "sleeps") == 0           ? "mixed"
	                        : strcmp(what, "short") == 0            ? "mpi"
	                        : strcmp(what, "broken") == 0           ? "mpi"
	                        : strcmp(what, "computes") == 0         ? "mpi"
	                                                                : what;
	return launch(RT_BOOT_AUTO, strcmp(what, "size") == 0 ? 5 : 0, stuck ? 600 : 30000, rank_main,
	              (void *)transport);
}
#else
#include <stdio.h>

int main(void)
{
	printf("skipped: built without MPI\n");
	return 77;
}
#endif
