/* bootstrap_turns: runs ranks as threads, one at a time, so that each run is the same.
 *
 *     rank 0   runs, rests                       runs, rests …
 *     rank 1               runs, rests
 *     last                             runs, rests                 when the others can do no more
 *
 * A rank runs until it rests: when it waits for others, and before it starts a communication. The others
 * run in rotation. The last rank runs when two rounds of the others have moved nothing. */
#include "base/arena.h"
#include "base/vec.h"
#include "rt/bootstrap_shared.h"
#include "rt/rt_region.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ROUNDS = 2,    /* rounds without any progress, until the last rank runs */
	FRUITLESS = 4, /* runs of the last rank without progress, until the job is stuck */
};

struct turns_rank {
	struct rt_job job;
	struct turns *all;
	pthread_cond_t comes; /* signalled when it may run */
	pthread_t thread;
	uint32_t meetings; /* number of meetings that it has reached */
	void *said[2];     /* its data for even and for odd meetings; owned */
	bool ended;
	int status;
};

struct turns {
	pthread_mutex_t lock;
	int ranks, last, now; /* now: the rank that runs */
	int quiet;            /* number of runs of the others since somebody made progress */
	int fruitless;        /* likewise, rounds that include the last rank */
	bool moved;           /* progress was made in this run */
	rt_rank_main *main;
	void *arg;
	VEC(struct rt_region) region; /* memory that all share */
	struct turns_rank rank[];
};

static struct turns_rank *rank_of(const struct rt_job *job)
{
	return job->boot_state;
}

/* ---- turns, under the lock */

/* Returns the next of the other ranks; -1: all have ended. */
static int next_other(const struct turns *t)
{
	for (int k = 1; k <= t->ranks; k++) {
		int r = (t->now + k) % t->ranks;
		if (r != t->last && !t->rank[r].ended)
			return r;
	}
	return -1;
}

static int choose_next_rank(struct turns *t)
{
	int next = next_other(t);
	bool is_last = t->now == t->last, last_goes = !t->rank[t->last].ended;
	if (t->moved)
		t->quiet = t->fruitless = 0;
	else
		t->quiet += !is_last;
	bool all_quiet = next < 0 || t->quiet >= ROUNDS * (t->ranks - 1);
	if (all_quiet && last_goes && !is_last)
		next = t->last;
	else if (!t->moved && (all_quiet || is_last)) {
		t->quiet = 0;
		t->fruitless++;
	}
	t->moved = false;
	return next;
}

/* Lets other ranks run until it is this rank's turn again; at the end it does not wait. */
static void pass_turn(struct turns_rank *own)
{
	struct turns *t = own->all;
	int next = choose_next_rank(t);
	if (next < 0 || next == t->now)
		return;
	t->now = next;
	pthread_cond_signal(&t->rank[next].comes);
	while (!own->ended && t->now != own->job.rank)
		pthread_cond_wait(&own->comes, &t->lock);
}

static void turns_rest(struct rt_job *job, bool moved)
{
	struct turns_rank *own = rank_of(job);
	struct turns *t = own->all;
	pthread_mutex_lock(&t->lock);
	t->moved = t->moved || moved;
	pass_turn(own);
	bool stuck = t->fruitless >= FRUITLESS;
	pthread_mutex_unlock(&t->lock);
	if (stuck)
		rt_job_stuck(job, "no rank can go on");
}

/* ---- functions of a bootstrap */

static bool all_have_come(const struct turns *t, uint32_t meeting)
{
	for (int r = 0; r < t->ranks; r++)
		if ((int32_t)(t->rank[r].meetings - meeting) < 0)
			return false;
	return true;
}

static enum status turns_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes,
                                   void *all)
{
	struct turns_rank *own = rank_of(job);
	const struct turns *t = own->all;
	uint32_t meeting = own->meetings + 1;
	void **said = &own->said[meeting & 1]; /* nobody reads the data of the meeting before the last one */
	*said = mem_realloc(*said, bytes + 1);
	if (bytes)
		memcpy(*said, mine, bytes);
	own->meetings = meeting;
	rt_job_host(job, what);
	for (bool first = true; !all_have_come(t, meeting); first = false) {
		enum status status = rt_job_status(job);
		if (status != STATUS_OK)
			return status;
		turns_rest(job, first);
	}
	rt_job_host(job, NULL);
	for (int r = 0; r < t->ranks && bytes; r++)
		memcpy((char *)all + (size_t)r * bytes, t->rank[r].said[meeting & 1], bytes);
	return STATUS_OK;
}

static bool turns_share_memory(const struct rt_job *job)
{
	(void)job;
	return true;
}

/* Hands out memory, which is kept until all ranks have ended. */
static enum status turns_share(struct rt_job *job, const char *what, size_t bytes, struct rt_region *out)
{
	struct rt_region own = {.bytes = bytes, .file = -1},
	                 *all = mem_alloc((size_t)job->size * sizeof *all);
	if (job->rank == 0) {
		own.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (own.at == MAP_FAILED) {
			free(all);
			return rt_region_failed(job, what, bytes, errno);
		}
		vec_push(&rank_of(job)->all->region, own);
	}
	enum status status = rt_job_allgather(job, "shared memory", &own, sizeof own, all);
	if (status == STATUS_OK)
		*out = all[0];
	free(all);
	return status;
}

static void turns_unshare(struct rt_job *job, struct rt_region *region)
{
	(void)job, (void)region;
}

#define TURNS(kind)                                                                                          \
	{                                                                                                    \
		.name = kind, .allgather = turns_allgather, .shares = turns_share_memory,                    \
		.share = turns_share, .unshare = turns_unshare, .rest = turns_rest                           \
	}

/* ---- beginning and end */

static void *rank_run(void *at)
{
	struct turns_rank *own = at;
	struct turns *t = own->all;
	pthread_mutex_lock(&t->lock);
	while (t->now != own->job.rank)
		pthread_cond_wait(&own->comes, &t->lock);
	pthread_mutex_unlock(&t->lock);
	own->status = t->main(&own->job, t->arg);
	rt_job_host(&own->job, "finished");
	rt_job_fail(&own->job, (enum status)own->status);
	pthread_mutex_lock(&t->lock);
	own->ended = t->moved = true;
	pass_turn(own);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void turns_free(struct turns *t)
{
	for (int r = 0; r < t->ranks; r++) {
		pthread_cond_destroy(&t->rank[r].comes);
		free(t->rank[r].said[0]);
		free(t->rank[r].said[1]);
	}
	for (uint32_t k = 0; k < t->region.n; k++)
		munmap(t->region.at[k].at, t->region.at[k].bytes);
	vec_free(&t->region);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

enum status rt_launch_turns(const struct rt_turns_options *o, int (*rank_main)(struct rt_job *, void *),
                            void *arg)
{
	static const struct rt_bootstrap threads = TURNS("thread"), processes = TURNS("fork");
	struct rt_job launcher = {.rank = -1, .size = o->ranks, .host = "here"};
	struct turns *t = mem_zalloc(sizeof *t + (size_t)o->ranks * sizeof *t->rank);
	*t =
	    (struct turns){.ranks = o->ranks, .last = o->last, .now = o->last, .main = rank_main, .arg = arg};
	pthread_mutex_init(&t->lock, NULL);
	launcher.board = mem_zalloc(rt_board_bytes(o->ranks));
	rt_board_start(launcher.board, o->ranks, 0);
	for (int r = 0; r < o->ranks; r++)
		rt_board_join(launcher.board, r, 0);
	pthread_mutex_lock(&t->lock); /* nobody runs until all have started */
	int started = 0;
	for (int r = 0; r < o->ranks; r++) {
		struct turns_rank *own = &t->rank[r];
		own->job = launcher;
		own->job.rank = r;
		own->job.boot = o->processes ? &processes : &threads;
		own->job.boot_state = own;
		own->all = t;
		pthread_cond_init(&own->comes, NULL);
		int error = started == r ? pthread_create(&own->thread, NULL, rank_run, own) : EAGAIN;
		started += !error;
		if (error && started == r) {
			rt_job_error(&launcher, "cannot start rank %d: pthread_create: %s", r,
			             strerror(error));
			rt_job_fail(&launcher, STATUS_DIAGNOSTICS);
		}
		own->ended = error != 0;
	}
	int first = t->rank[t->last].ended ? 0 : next_other(t);
	t->now = first >= 0 ? first : t->last;
	pthread_cond_signal(&t->rank[t->now].comes);
	pthread_mutex_unlock(&t->lock);
	enum status worst = STATUS_OK;
	for (int r = 0; r < started; r++) {
		pthread_join(t->rank[r].thread, NULL);
		worst = rt_status_worse(worst, (enum status)t->rank[r].status);
	}
	enum status ended = rt_job_status(&launcher);
	free(launcher.board);
	turns_free(t);
	return ended != STATUS_OK ? ended : worst;
}
