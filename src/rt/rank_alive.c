/* rank_alive: see rank_alive.h. */
#include "rt/rank_alive.h"
#include <errno.h>
#include <string.h>

static struct rt_alive *get_own_life(struct rt_job *job)
{
	return &job->board->rank[job->rank - job->board->first].life;
}

bool rt_alive_begin(struct rt_job *job)
{
	struct rt_alive *l = get_own_life(job);
	pthread_mutexattr_t kind;
	int error = pthread_mutexattr_init(&kind);
	if (!error)
		error = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	if (!error)
		error = pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	if (!error)
		error = pthread_mutex_init(&l->lock, &kind);
	pthread_mutexattr_destroy(&kind);
	if (!error)
		error = pthread_mutex_lock(&l->lock);
	if (error) {
		rt_job_error(job, "cannot lock a mutex that ends with its process: %s", strerror(error));
		rt_job_fail(job, STATUS_INTERNAL);
		return false;
	}
	atomic_store_explicit(&l->watched, 1, memory_order_release);
	return true;
}

void rt_alive_end(struct rt_job *job)
{
	struct rt_alive *l = get_own_life(job);
	if (!atomic_exchange(&l->watched, 0))
		return;
	pthread_mutex_unlock(&l->lock);
}

int rt_alive_lost(struct rt_board *b)
{
	for (int r = 0; r < b->ranks; r++) {
		struct rt_alive *l = &b->rank[r].life;
		if (!atomic_load_explicit(&l->watched, memory_order_acquire))
			continue;
		int error = pthread_mutex_trylock(&l->lock);
		if (error == EBUSY)
			continue;
		/* it has died, or has just reached rt_alive_end */
		bool died = atomic_load_explicit(&l->watched, memory_order_acquire);
		if (error == EOWNERDEAD)
			pthread_mutex_consistent(&l->lock);
		pthread_mutex_unlock(&l->lock); /* others must find it free as well */
		if (died)
			atomic_store_explicit(&l->lost, 1, memory_order_relaxed);
		if (died)
			return b->first + r;
	}
	return -1;
}
