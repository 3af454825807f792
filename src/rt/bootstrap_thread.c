/* bootstrap_thread: runs ranks as threads of this process, with the same transport code. */
#include "base/arena.h"
#include "rt/bell.h"
#include "rt/bootstrap_shared.h"
#include "rt/rt_region.h"
#include "rt/signals.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LOOK_US = 50000,     /* interval at which the launcher tests if the job has failed */
	GRACE_US = 10000000, /* time for ranks to stop after a failure */
};

/* Memory that thread_share has handed out. The last rank to give it back frees it, since the others may
 * still use it. */
struct handed {
	struct handed *next;
	struct rt_region region;
	_Atomic int ranks; /* number of ranks that have not given it back */
};

struct thread_rank {
	struct rt_job job;
	struct rt_member member; /* must be first: rt_shared_allgather reads it through boot_state */
	struct handed *handed;   /* set by rank 0 */
	pthread_t thread;
	bool started;
	_Atomic bool returned;
	struct rt_bell *ended; /* of the launcher: rung by each rank that returns */
	rt_rank_main *main;
	void *arg;
	int status;
};

static bool thread_shares(const struct rt_job *job)
{
	(void)job;
	return true;
}

/* Returns the state of the thread that runs the job, or a copy of it. */
static struct thread_rank *rank_of(struct rt_job *job)
{
	return (struct thread_rank *)((char *)job->boot_state - offsetof(struct thread_rank, member));
}

/* Allocates memory from a file, as fork does, so that ranges of it can be mapped again. */
static enum status thread_share(struct rt_job *job, const char *what, size_t bytes, struct rt_region *out)
{
	struct thread_rank *own = rank_of(job);
	struct handed *h = NULL;
	if (job->rank == 0) {
		int file = rt_region_file(bytes);
		void *at = file < 0 ? NULL : rt_region_map(file, 0, bytes);
		if (!at) {
			int error = errno;
			if (file >= 0)
				close(file);
			return rt_region_failed(job, what, bytes, error);
		}
		h = mem_alloc(sizeof *h);
		*h = (struct handed){.next = own->handed, .ranks = job->size};
		h->region = (struct rt_region){.at = at, .bytes = bytes, .file = file, .owner = h};
		own->handed = h;
	}
	struct handed **all = mem_alloc((size_t)job->size * sizeof(struct handed *));
	enum status status = rt_job_allgather(job, "shared memory", &h, sizeof(struct handed *), all);
	if (status == STATUS_OK)
		*out = all[0]->region;
	free(all);
	return status;
}

static void give_back(struct handed *h)
{
	munmap(h->region.at, h->region.bytes);
	close(h->region.file);
}

static void thread_unshare(struct rt_job *job, struct rt_region *region)
{
	struct handed *h = region->owner;
	(void)job;
	if (atomic_fetch_sub(&h->ranks, 1) == 1)
		give_back(h);
}

static const struct rt_bootstrap thread_bootstrap = {
    .name = "thread",
    .allgather = rt_shared_allgather,
    .shares = thread_shares,
    .share = thread_share,
    .unshare = thread_unshare,
};

static void *rank_run(void *at)
{
	struct thread_rank *r = at;
	r->status = r->main(&r->job, r->arg);
	rt_job_host(&r->job, "finished");
	rt_job_fail(&r->job, (enum status)r->status);
	atomic_store(&r->returned, true);
	rt_bell_ring(r->ended);
	return NULL;
}

/* Joins a rank. A thread cannot be ended from outside: if one does not stop after a failure, the process
 * exits. */
static void join_rank(struct rt_job *launcher, struct thread_rank *r)
{
	int64_t failed_at = 0;
	for (;;) {
		uint32_t seen = rt_bell_read(r->ended);
		if (atomic_load(&r->returned)) {
			pthread_join(r->thread, NULL);
			return;
		}
		rt_bell_wait(r->ended, seen, LOOK_US);
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
		return STATUS_DIAGNOSTICS;
	launcher.board = s->board;
	rt_signals_begin(s->board, -1);
	struct rt_bell ended = {0};
	struct thread_rank *rank = mem_zalloc((size_t)np * sizeof *rank);
	for (int r = 0; r < np; r++) {
		struct thread_rank *t = &rank[r];
		t->job = launcher;
		t->job.rank = r;
		t->job.boot = &thread_bootstrap;
		t->job.boot_state = &t->member;
		t->member = (struct rt_member){.shared = s, .memory = -1};
		t->ended = &ended;
		t->main = rank_main;
		t->arg = arg;
		int error = pthread_create(&t->thread, NULL, rank_run, t);
		if (error) {
			rt_job_error(&launcher, "cannot start rank %d: pthread_create: %s", r,
			             strerror(error));
			rt_job_fail(&launcher, STATUS_DIAGNOSTICS);
			break;
		}
		t->started = true;
	}
	enum status worst = STATUS_OK;
	for (int r = 0; r < np; r++) {
		if (!rank[r].started)
			continue;
		join_rank(&launcher, &rank[r]);
		worst = rt_status_worse(worst, (enum status)rank[r].status);
	}
	enum status first = rt_job_status(&launcher);
	rt_signals_end();
	for (struct handed *h = rank[0].handed, *next; h; h = next) {
		next = h->next;
		if (atomic_load(&h->ranks) > 0)
			give_back(h);
		free(h);
	}
	free(rank);
	rt_shared_free(s);
	return first != STATUS_OK ? first : worst;
}
