/* bootstrap_mpi: joins a job whose ranks mpirun or srun has started; this process is one rank.
 *
 * The ranks of a host share a board, so that one of them can print for all. When mpirun ends them, one
 * rank of each host prints where its ranks are. A job that failed ends by MPI_Abort, unless all ranks
 * reach the end within a moment. */
#ifdef HIRC_HAVE_MPI
#include "base/arena.h"
#include "rt/bootstrap_shared.h"
#include "rt/environment.h"
#include "rt/mpi_call.h"
#include "rt/rank_alive.h"
#include "rt/signals.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	GRACE_US = 1000000, /* time for the others to reach the end after a failure */
	LOST_US = 3000000,  /* time for the launcher to end this rank after another one has died */
	POLL_US = 200,      /* time between looks at a slow exchange */
	QUICK_LOOKS = 200,  /* looks before the first sleep */
};

bool rt_mpi_failed(struct rt_job *job, int code, const char *call)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int n = 0;
	MPI_Error_string(code, text, &n);
	const char *end = strchr(call, '('); /* prints only the name of the call */
	rt_job_error(job, "%.*s: %s", end ? (int)(end - call) : (int)strlen(call), call, text);
	rt_job_fail(job, STATUS_INTERNAL);
	return false;
}

static void sleep_us(int64_t us)
{
	nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

/* Allgather among the ranks of a communicator, like mpi_allgather, but in memory of its own. In a failed
 * job it may still be in flight when the memory of its caller has been freed. memory: `bytes` of each
 * rank, after those of this rank. */
static enum status exchange_in(struct rt_job *job, MPI_Comm comm, const char *what, char *memory,
                               size_t bytes)
{
	MPI_Request request;
	struct rt_board_rank *board = &job->board->rank[job->rank - job->board->first];
	bool everyone = comm != ((struct rt_mpi *)job->boot_state)->host;
	if (everyone)
		atomic_fetch_add_explicit(&board->met, 1, memory_order_relaxed);
	atomic_store_explicit(&board->meets, everyone, memory_order_relaxed);
	rt_job_progress(job);
	if (!RT_MPI(job, MPI_Iallgather(memory, (int)bytes, MPI_BYTE, memory + bytes, (int)bytes, MPI_BYTE,
	                                comm, &request)))
		return rt_job_status(job);
	struct rt_watch watch = {0};
	bool noted = false;
	for (int look = 0;; look++) {
		int done = 0;
		if (!RT_MPI(job, MPI_Test(&request, &done, MPI_STATUS_IGNORE)))
			return rt_job_status(job);
		if (done)
			break;
		enum status status = rt_job_status(job);
		if (status != STATUS_OK)
			return status;
		if (rt_watch_expired(&watch, job)) {
			char why[256];
			snprintf(why, sizeof why, "waited %.1f s for the other ranks to come to: %s",
			         (double)job->timeout_ms / 1000, what);
			return rt_job_stuck(job, why);
		}
		if (look < QUICK_LOOKS)
			continue;
		if (!noted)
			rt_job_host(job, what);
		noted = true;
		sleep_us(POLL_US);
	}
	atomic_store_explicit(&board->meets, 0, memory_order_relaxed);
	if (noted)
		rt_job_host(job, NULL);
	return STATUS_OK;
}

static enum status exchange_bytes(struct rt_job *job, MPI_Comm comm, const char *what, const void *mine,
                                  size_t bytes, void *all)
{
	struct rt_mpi *m = job->boot_state;
	int ranks;
	if (bytes > INT32_MAX) {
		rt_job_error(job, "%s: %zu bytes are too many to exchange", what, bytes);
		return rt_job_fail(job, STATUS_INTERNAL);
	}
	if (m->exchanged) { /* an exchange that did not end is still in flight on this communicator */
		enum status status = rt_job_status(job);
		return status != STATUS_OK ? status : STATUS_INTERNAL;
	}
	if (!RT_MPI(job, MPI_Comm_size(comm, &ranks)))
		return rt_job_status(job);
	size_t of_all = bytes * (size_t)ranks;
	char *memory = mem_alloc(bytes + of_all + 1);
	if (bytes)
		memcpy(memory, mine, bytes);
	enum status status = exchange_in(job, comm, what, memory, bytes);
	if (status != STATUS_OK) {
		m->exchanged = memory;
		return status;
	}
	if (bytes)
		memcpy(all, memory + bytes, of_all);
	free(memory);
	return STATUS_OK;
}

static enum status mpi_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes,
                                 void *all)
{
	return exchange_bytes(job, ((struct rt_mpi *)job->boot_state)->boot, what, mine, bytes, all);
}

static const int *mpi_hosts(const struct rt_job *job)
{
	return ((const struct rt_mpi *)job->boot_state)->host_of;
}

static bool mpi_shares(const struct rt_job *job)
{
	return ((const struct rt_mpi *)job->boot_state)->one_host;
}

/* ---- shared memory */

/* The file in memory that the first rank offers. */
struct offer {
	int64_t pid;
	uint64_t pids; /* the name space of its process number */
	uint64_t device, inode;
	int file, error; /* error: errno, or one of those below */
};

enum {
	OTHER_PIDS = -1, /* the name space of process numbers is another one */
	OTHER_FILE = -2, /* /proc shows another file */
};

static struct offer make_offer(size_t bytes)
{
	struct stat is;
	struct offer own = {.pid = getpid(), .file = rt_region_file(bytes)};
	own.error = own.file < 0 ? errno : 0;
	if (own.file >= 0 && fstat(own.file, &is) == 0)
		own.device = is.st_dev, own.inode = is.st_ino;
	return own;
}

static uint64_t find_pids(void)
{
	struct stat is;
	return stat("/proc/self/ns/pid", &is) == 0 ? is.st_ino : 0;
}

/* Opens the file of another process through /proc. The process number may mean another process here, or its file
 * may have been replaced: nothing is opened before the link leads to the offered file. Returns -1 with *error. */
static int open_offer(const struct offer *o, int *error)
{
	char path[64];
	struct stat is;
	snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)o->pid, o->file);
	*error = o->pids != find_pids() ? OTHER_PIDS : stat(path, &is) < 0 ? errno : 0;
	if (!*error && (is.st_dev != o->device || is.st_ino != o->inode))
		*error = OTHER_FILE;
	int file = *error ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (file < 0) {
		*error = *error ? *error : errno;
		return -1;
	}
	if (fstat(file, &is) == 0 && is.st_dev == o->device && is.st_ino == o->inode)
		return file;
	*error = OTHER_FILE;
	close(file);
	return -1;
}

static enum status report_share(struct rt_job *job, const char *what, size_t bytes, int error)
{
	if (error > 0)
		return rt_region_failed(job, what, bytes, error);
	const char *why = error == OTHER_PIDS
	                      ? "ranks of this host are in different PID name spaces, as those of containers "
	                        "are; start them in one"
	                      : "/proc shows another file than rank 0 of this host offers";
	rt_job_error(job, "no shared memory for %s: %s", what, why);
	return rt_job_fail(job, STATUS_DIAGNOSTICS);
}

/* The first rank makes a file in memory, and the others open it through /proc. It disappears with the
 * last process. */
static enum status mpi_share_on_host(struct rt_job *job, const char *what, size_t bytes,
                                     struct rt_region *out)
{
	MPI_Comm comm = ((struct rt_mpi *)job->boot_state)->host;
	int n, own_place;
	if (!RT_MPI(job, MPI_Comm_size(comm, &n)) || !RT_MPI(job, MPI_Comm_rank(comm, &own_place)))
		return rt_job_status(job);
	struct offer own = {.file = -1}, *all = mem_alloc((size_t)n * sizeof *all);
	if (own_place == 0)
		own = make_offer(bytes);
	own.pids = find_pids();
	void *at = NULL;
	int file = own.file;
	enum status status = exchange_bytes(job, comm, "shared memory", &own, sizeof own, all);
	if (status == STATUS_OK && (own.error = all[0].error) == 0) {
		if (own_place != 0)
			file = open_offer(&all[0], &own.error);
		if (file >= 0 && !(at = rt_region_map(file, 0, bytes)))
			own.error = errno;
	}
	if (status == STATUS_OK) /* also because the first rank must keep the file open until all have it */
		status = exchange_bytes(job, comm, "shared memory", &own, sizeof own, all);
	for (int r = 0; r < n && status == STATUS_OK; r++)
		if (all[r].error) /* one of the ranks that failed prints the message */
			status = r == own_place ? report_share(job, what, bytes, all[r].error)
			                        : STATUS_DIAGNOSTICS;
	free(all);
	if (status == STATUS_OK) {
		*out = (struct rt_region){.at = at, .bytes = bytes, .file = file};
		return STATUS_OK;
	}
	if (at)
		munmap(at, bytes);
	if (file >= 0)
		close(file);
	return status;
}

static enum status mpi_share(struct rt_job *job, const char *what, size_t bytes, struct rt_region *out)
{
	if (!mpi_shares(job)) {
		rt_job_error(job, "shared memory needs all ranks on one host");
		return rt_job_fail(job, STATUS_ABSENT);
	}
	return mpi_share_on_host(job, what, bytes, out);
}

static void mpi_unshare(struct rt_job *job, struct rt_region *region)
{
	(void)job;
	munmap(region->at, region->bytes);
	close(region->file);
}

static const struct rt_bootstrap mpi_bootstrap = {
    .name = "mpi",
    .allgather = mpi_allgather,
    .shares = mpi_shares,
    .share = mpi_share,
    .unshare = mpi_unshare,
    .hosts = mpi_hosts,
    .share_on_host = mpi_share_on_host,
};

/* Numbers the hosts. */
static bool find_hosts(struct rt_job *job, struct rt_mpi *m)
{
	int first = job->rank, hosts = 0;
	int *host_of = mem_alloc((size_t)job->size * sizeof *host_of);
	if (!RT_MPI(job, MPI_Bcast(&first, 1, MPI_INT, 0, m->host)) ||
	    !RT_MPI(job, MPI_Allgather(&first, 1, MPI_INT, host_of, 1, MPI_INT, m->boot))) {
		free(host_of);
		return false;
	}
	for (int r = 0; r < job->size; r++) /* the host's first rank is the one that gives it a number */
		host_of[r] = host_of[r] == r ? hosts++ : host_of[host_of[r]];
	m->host_of = host_of;
	m->one_host = hosts == 1;
	return true;
}

/* Sets size, rank and board. Returns false after a message. */
static bool enter(struct rt_job *job, struct rt_mpi *m, int np)
{
	int provided = 0;
	const struct rt_env_said said = rt_env_read();
	if (!RT_MPI(job, MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided)))
		return false;
	if (!RT_MPI(job, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) ||
	    !RT_MPI(job, MPI_Comm_size(MPI_COMM_WORLD, &job->size)) ||
	    !RT_MPI(job, MPI_Comm_rank(MPI_COMM_WORLD, &job->rank)))
		return false;
	job->board = mem_zalloc(rt_board_bytes(1)); /* private, until there is a shared one */
	rt_board_start(job->board, 1, job->rank);
	rt_board_join(job->board, job->rank, getpid());
	if (provided < MPI_THREAD_SERIALIZED) {
		rt_job_error(job,
		             "this MPI library does not allow calls from more than one thread (it gives "
		             "level %d, hirc needs MPI_THREAD_SERIALIZED, %d)",
		             provided, MPI_THREAD_SERIALIZED);
		rt_job_fail(job, STATUS_ABSENT);
		return false;
	}
	struct buf text = {0};
	bool agrees = rt_env_agrees(&said, job->size, job->rank, &text);
	if (!agrees) {
		rt_job_error(job, "%s", text.at);
		rt_job_fail(job, STATUS_USAGE);
	}
	buf_free(&text);
	if (!agrees)
		return false;
	if (np > 0 && np != job->size) {
		if (job->rank == 0)
			rt_job_error(job, "%d ranks are asked for, but the launcher has started %d", np,
			             job->size);
		rt_job_fail(job, STATUS_USAGE);
		return false;
	}
	if (!RT_MPI(job, MPI_Comm_dup(MPI_COMM_WORLD, &m->boot)) ||
	    !RT_MPI(job, MPI_Comm_dup(MPI_COMM_WORLD, &m->end)) ||
	    !RT_MPI(job, MPI_Comm_split_type(m->boot, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &m->host)))
		return false;
	return find_hosts(job, m);
}

static bool share_board(struct rt_job *job)
{
	struct rt_mpi *m = job->boot_state;
	if (rt_job_barrier(job, "the start of all ranks") != STATUS_OK ||
	    mpi_share_on_host(job, "the start of all ranks", rt_board_bytes(job->size), &m->board) !=
	        STATUS_OK)
		return false;
	int place;
	if (!RT_MPI(job, MPI_Comm_rank(m->host, &place)))
		return false;
	if (place == 0)
		rt_board_start(m->board.at, job->size, 0);
	if (rt_job_barrier(job, "the start of all ranks") != STATUS_OK)
		return false;
	free(job->board);
	job->board = m->board.at;
	m->board_shared = true;
	rt_board_join(job->board, job->rank, getpid());
	rt_signals_begin(job->board, job->rank);
	return rt_alive_begin(job);
}

/* Exchanges the statuses with which the ranks end. Does not return if one has failed and some do not
 * come. */
static enum status exchange_endings(struct rt_job *job, enum status status)
{
	struct rt_mpi *m = job->boot_state;
	int own = status, *all = mem_zalloc((size_t)job->size * sizeof *all);
	int64_t failed_at = 0;
	MPI_Request request;
	int done = 0;
	bool can_meet = m->end != MPI_COMM_NULL, lost = false;
	bool ok =
	    can_meet && RT_MPI(job, MPI_Iallgather(&own, 1, MPI_INT, all, 1, MPI_INT, m->end, &request));
	for (int look = 0; ok && !done; look++) {
		ok = RT_MPI(job, MPI_Test(&request, &done, MPI_STATUS_IGNORE));
		if (status == STATUS_OK)
			status = rt_job_lost(job) ? STATUS_INTERNAL : rt_job_status(job);
		if (status != STATUS_OK && failed_at == 0)
			failed_at = rt_clock_us();
		lost = lost || (failed_at && rt_alive_lost(job->board) >= 0);
		if (failed_at && rt_clock_us() - failed_at > (lost ? LOST_US : GRACE_US))
			break;
		if (look > QUICK_LOOKS && !done)
			sleep_us(POLL_US);
	}
	if (!done) {
		/* The launcher ends a job that lost a rank, with the exit code of that rank, unless another
		 * rank exits before it notices. A call of MPI may have failed since a rank of another host
		 * has died. */
		if (can_meet && !ok)
			sleep_us(LOST_US);
		/* Exiting without MPI_Finalize makes mpirun end all ranks and use the exit code, as
		 * MPI_Abort does. It is the last resort: after either, mpirun of Open MPI 4.1 sometimes
		 * hangs or crashes (a race in PMIx_server_finalize). */
		fflush(NULL);
		pthread_mutex_lock(&m->lock); /* waits until no MPI call is running */
		_exit(status != STATUS_OK ? (int)status : STATUS_INTERNAL);
	}
	enum status first = rt_job_status(job), worst = STATUS_OK;
	for (int r = 0; r < job->size; r++)
		worst = rt_status_worse(worst, (enum status)all[r]);
	free(all);
	return first != STATUS_OK && m->one_host ? first : worst;
}

enum status rt_launch_mpi(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg)
{
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	struct rt_mpi m = {.lock = PTHREAD_MUTEX_INITIALIZER,
	                   .boot = MPI_COMM_NULL,
	                   .end = MPI_COMM_NULL,
	                   .host = MPI_COMM_NULL};
	struct rt_job job = {.rank = -1,
	                     .size = 1,
	                     .boot = &mpi_bootstrap,
	                     .boot_state = &m,
	                     .timeout_ms = options->timeout_ms,
	                     .host = host};
	enum status status = STATUS_OK;
	if (!enter(&job, &m, options->np)) {
		status = rt_job_status(&job);
		if (!job.board)
			return STATUS_INTERNAL; /* MPI did not start */
	} else if (!share_board(&job)) {
		status = rt_job_status(&job);
		if (status == STATUS_OK)
			status = STATUS_INTERNAL;
	}
	if (status == STATUS_OK) {
		status = (enum status)rank_main(&job, arg);
		rt_job_host(&job, "finished");
		rt_job_fail(&job, status);
	}
	status = exchange_endings(&job, status);
	if (status == STATUS_OK && m.end != MPI_COMM_NULL) {
		RT_MPI(&job, MPI_Comm_free(&m.host));
		RT_MPI(&job, MPI_Comm_free(&m.boot));
		RT_MPI(&job, MPI_Comm_free(&m.end));
	}
	rt_alive_end(&job);
	rt_signals_end();
	MPI_Finalize();
	rt_mpi_free_abandoned(&m);
	free(m.exchanged);
	free(m.host_of);
	if (m.board_shared)
		mpi_unshare(&job, &m.board);
	else
		free(job.board);
	return status;
}
#else
typedef int rt_no_mpi; /* a C file must not be empty */
#endif
