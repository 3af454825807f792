/* bootstrap_fork: starts one process a rank on this machine.
 *
 * The parent maps the memory that all ranks share, forks the ranks and waits (launcher.c). If a rank
 * dies, the parent prints that with the contents of the rank's board, and ends the others. Ranks are
 * killed when the parent dies, and all shared memory is anonymous, so nothing is left behind in any
 * case. */
#include "base/arena.h"
#include "rt/launcher.h"
#include "rt/rt_region.h"
#include "rt/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static bool fork_shares(const struct rt_job *job)
{
	(void)job;
	return true;
}

/* Returns another range of the file that all ranks have inherited. */
static enum status fork_share(struct rt_job *job, const char *what, size_t bytes, struct rt_region *out)
{
	struct rt_member *m = job->boot_state;
	size_t unit = rt_region_unit(bytes), offset = (m->mapped + unit - 1) / unit * unit;
	int failed = 0;
	if (job->rank == 0 && ftruncate(m->memory, (off_t)(offset + bytes)) != 0)
		failed = errno;
	int *all = mem_alloc((size_t)job->size * sizeof *all);
	enum status status = rt_job_allgather(job, "shared memory", &failed, sizeof failed, all);
	failed = all[0];
	void *at = NULL;
	if (status == STATUS_OK && !failed) {
		at = rt_region_map(m->memory, offset, bytes);
		failed = at ? 0 : errno;
	}
	free(all);
	if (status != STATUS_OK)
		return status;
	if (!at)
		return rt_region_failed(job, what, bytes, failed);
	m->mapped = offset + bytes;
	*out = (struct rt_region){.at = at, .bytes = bytes, .file = m->memory, .offset = offset};
	return STATUS_OK;
}

static void fork_unshare(struct rt_job *job, struct rt_region *region)
{
	(void)job;
	munmap(region->at, region->bytes);
}

static const struct rt_bootstrap fork_bootstrap = {
    .name = "fork",
    .allgather = rt_shared_allgather,
    .shares = fork_shares,
    .share = fork_share,
    .unshare = fork_unshare,
};

static _Noreturn void rank_run(struct rt_job *job, rt_rank_main *rank_main, void *arg, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
		_exit(STATUS_INTERNAL);
	struct rt_shared *s = ((struct rt_member *)job->boot_state)->shared;
	rt_board_join(s->board, job->rank, getpid());
	rt_signals_forward(s->board);
	int status = rank_main(job, arg);
	rt_job_host(job, "finished");
	rt_job_fail(job, (enum status)status);
	if (fflush(NULL) != 0 && status == STATUS_OK) {
		rt_job_error(job, "cannot write: %s", strerror(errno));
		status = STATUS_DIAGNOSTICS;
	}
	atomic_store(&s->rank[job->rank].returned, status + 1);
	exit(status);
}

enum status rt_launch_fork(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg)
{
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	struct rt_job launcher = {
	    .rank = -1, .size = options->np, .timeout_ms = options->timeout_ms, .host = host};
	struct rt_shared *s = rt_shared_new(&launcher, options->np);
	if (!s)
		return STATUS_DIAGNOSTICS;
	launcher.board = s->board;
	int memory = memfd_create("hirc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	pid_t *pid = mem_zalloc((size_t)options->np * sizeof *pid);
	/* it grows with each share */
	if (memory < 0 || fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) < 0) {
		rt_job_error(&launcher, "memfd_create: %s", strerror(errno));
		rt_job_fail(&launcher, STATUS_DIAGNOSTICS);
	}
	struct rt_launcher l = {.job = &launcher, .shared = s, .pid = pid, .n = options->np};
	fflush(NULL);
	rt_launcher_listen(&l);
	pid_t parent = getpid();
	for (int r = 0; r < options->np && memory >= 0; r++) {
		pid[r] = fork();
		if (pid[r] == 0) {
			rt_launcher_forget(&l);
			free(pid);
			struct rt_member member = {.shared = s, .memory = memory};
			struct rt_job job = launcher;
			job.rank = r;
			job.boot = &fork_bootstrap;
			job.boot_state = &member;
			rank_run(&job, rank_main, arg, parent);
		}
		if (pid[r] < 0) {
			rt_job_error(&launcher, "cannot start rank %d: fork: %s", r, strerror(errno));
			rt_job_fail(&launcher, STATUS_DIAGNOSTICS);
			break;
		}
	}
	enum status worst = rt_launcher_wait(&l);
	enum status first = rt_job_status(&launcher);
	free(pid);
	if (memory >= 0)
		close(memory);
	rt_shared_free(s);
	return first != STATUS_OK ? first : worst;
}
