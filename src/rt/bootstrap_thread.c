/* bootstrap_thread: ranks as threads of this process, with the transport code of separate ones. */
#include "base/arena.h"
#include "rt/bootstrap_shared.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOK_NS = 50000000,  /* how often the launcher looks whether the job has failed */
	GRACE_US = 10000000, /* for ranks to stop after a failure */
};

/* Memory that thread_share has handed out: it lives as long as the job, since a rank that is done with it
 * does not know about the others. */
struct region {
	struct region *next;
	void *at;
	size_t bytes;
};

struct thread_rank {
	struct rt_job job;
	struct rt_member member; /* first use of boot_state: rt_shared_allgather's */
	struct region *regions;  /* of rank 0 */
	pthread_t thread;
	bool started;
	rt_rank_main *main;
	void *arg;
	int status;
};

static enum status thread_share(struct rt_job *job, size_t bytes, void **out)
{
	struct thread_rank *own = (struct thread_rank *)job; /* job is its first member */
	void *at = NULL;
	if (job->rank == 0) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		          0);
		if (at == MAP_FAILED) {
			rt_job_error(job, "no shared memory (%zu bytes): %s", bytes, strerror(errno));
			return rt_job_fail(job, STATUS_INTERNAL);
		}
		struct region *r = mem_alloc(sizeof *r);
		*r = (struct region){.next = own->regions, .at = at, .bytes = bytes};
		own->regions = r;
	}
	void **all = mem_alloc((size_t)job->size * sizeof *all);
	enum status status = rt_job_allgather(job, "shared memory", &at, sizeof at, all);
	if (status == STATUS_OK)
		*out = all[0];
	free(all);
	return status;
}

static void thread_unshare(struct rt_job *job, void *at, size_t bytes)
{
	(void)job, (void)at, (void)bytes;
}

static const struct rt_bootstrap thread_bootstrap = {
    .name = "thread",
    .allgather = rt_shared_allgather,
    .share = thread_share,
    .unshare = thread_unshare,
};

static void *rank_run(void *at)
{
	struct thread_rank *r = at;
	r->status = r->main(&r->job, r->arg);
	rt_job_host(&r->job, "finished");
	rt_job_fail(&r->job, (enum status)r->status);
	return NULL;
}

/* Joins a rank. A thread cannot be ended from outside: one that does not stop after a failure takes the
 * process with it. */
static void join(struct rt_job *launcher, struct thread_rank *r)
{
	int64_t failed_at = 0;
	for (;;) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_timedjoin_np(r->thread, NULL, &until) == 0)
			return;
		enum status status = rt_job_status(launcher);
		if (status == STATUS_OK)
			continue;
		if (failed_at == 0)
			failed_at = rt_clock_us();
		if (rt_clock_us() - failed_at > GRACE_US) {
			fflush(NULL);
			_exit((int)status);
		}
	}
}

enum status rt_launch_thread(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg)
{
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	int np = options->np;
	struct rt_job launcher = {.rank = -1, .size = np, .timeout_ms = options->timeout_ms, .host = host};
	struct rt_shared *s = rt_shared_new(&launcher, np);
	if (!s)
		return STATUS_INTERNAL;
	launcher.board = s->board;
	struct thread_rank *rank = mem_zalloc((size_t)np * sizeof *rank);
	for (int r = 0; r < np; r++) {
		struct thread_rank *t = &rank[r];
		t->job = launcher;
		t->job.rank = r;
		t->job.boot = &thread_bootstrap;
		t->job.boot_state = &t->member;
		t->member = (struct rt_member){.shared = s, .memory = -1};
		t->main = rank_main;
		t->arg = arg;
		int error = pthread_create(&t->thread, NULL, rank_run, t);
		if (error) {
			rt_job_error(&launcher, "cannot start rank %d: pthread_create: %s", r,
			             strerror(error));
			rt_job_fail(&launcher, STATUS_INTERNAL);
			break;
		}
		t->started = true;
	}
	enum status worst = STATUS_OK;
	for (int r = 0; r < np; r++) {
		if (!rank[r].started)
			continue;
		join(&launcher, &rank[r]);
		worst = rt_status_worse(worst, (enum status)rank[r].status);
	}
	enum status first = rt_job_status(&launcher);
	for (struct region *g = rank[0].regions, *next; g; g = next) {
		next = g->next;
		munmap(g->at, g->bytes);
		free(g);
	}
	free(rank);
	rt_shared_free(s);
	return first != STATUS_OK ? first : worst;
}
