/* mpi_progress: naps between calls of MPI; see mpi_progress.h. */
#ifdef HIRC_HAVE_MPI
#include "rt/mpi_progress.h"
#include "rt/mpi_call.h"
#include <time.h>

enum {
	NAP_US = 100,         /* nap while nobody else calls MPI */
	LONGEST_NAP_US = 800, /* nap while the rank tests its requests */
	QUIET_NAPS = 20,      /* naps without requests, before the thread sleeps until there are some */
};

static void nap(int64_t us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* Calls MPI: any call makes it move all data. Nobody sends on this communicator before the end of the
 * job. */
static bool probe_mpi(struct mpi_progress *p)
{
	struct rt_mpi *boot = p->job->boot_state;
	int found;
	return RT_MPI(p->job, MPI_Iprobe(MPI_ANY_SOURCE, 0, boot->end, &found, MPI_STATUS_IGNORE));
}

static void sleep_until_begun(struct mpi_progress *p)
{
	uint32_t seen = rt_bell_announce(&p->bell);
	if (atomic_load(&p->under_way) > 0 || atomic_load(&p->stop))
		rt_bell_withdraw(&p->bell);
	else
		rt_bell_sleep(&p->bell, seen, -1);
}

static void *run_progress(void *argument)
{
	struct mpi_progress *p = argument;
	uint32_t tests = 0;
	int64_t us = NAP_US;
	int quiet = 0;
	while (!atomic_load(&p->stop)) {
		uint32_t now = atomic_load_explicit(&p->tests, memory_order_relaxed);
		quiet = atomic_load(&p->under_way) > 0 || now != tests ? 0 : quiet + 1;
		if (quiet > QUIET_NAPS) {
			sleep_until_begun(p);
			quiet = 0;
			us = NAP_US;
		}
		if (now != tests)
			us = 2 * us < LONGEST_NAP_US ? 2 * us : LONGEST_NAP_US;
		else if (atomic_load(&p->under_way) > 0) {
			us = NAP_US;
			if (!probe_mpi(p))
				break;
		}
		tests = now;
		nap(us);
	}
	return NULL;
}

void mpi_progress_open(struct mpi_progress *p, struct rt_job *job, bool wanted)
{
	*p = (struct mpi_progress){.job = job, .wanted = wanted};
}

void mpi_progress_begin(struct mpi_progress *p)
{
	atomic_fetch_add(&p->under_way, 1);
	if (!p->wanted)
		return;
	if (p->started) {
		rt_bell_nudge(&p->bell);
		return;
	}
	p->started = pthread_create(&p->thread, NULL, run_progress, p) == 0;
	p->wanted = p->started;
}

void mpi_progress_close(struct mpi_progress *p)
{
	if (!p->started)
		return;
	atomic_store(&p->stop, 1);
	rt_bell_ring(&p->bell);
	pthread_join(p->thread, NULL);
}
#else
typedef int rt_no_mpi_progress; /* a C file must not be empty */
#endif
