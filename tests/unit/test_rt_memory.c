/* LABELS: tsan
 * Memory that all ranks see: what peers read, views side by side, and what happens when there is none. */
#include "test_rt_memory.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* System calls that fail on request: these definitions replace libc's. */
static enum { NONE, FILES, SIZES, PAGES } failing;
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { CAN_FAIL = false }; /* sanitizers have their own definitions, and reserve the address space */
#else
enum { CAN_FAIL = true };
#endif
static int failing_rank = -1; /* -1: all */
static struct rt_job *this_job;

__attribute__((unused)) static bool fails(int what) /* not with TSan */
{
	return (int)failing == what && (failing_rank < 0 || (this_job && this_job->rank == failing_rank));
}

#ifndef __SANITIZE_THREAD__
int memfd_create(const char *name, unsigned flags)
{
	if (fails(FILES) && strcmp(name, "stderr") != 0) {
		errno = ENFILE;
		return -1;
	}
	return (int)syscall(SYS_memfd_create, name, flags);
}

int ftruncate(int file, off_t bytes)
{
	if (fails(SIZES)) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_ftruncate, file, bytes);
}

int madvise(void *at, size_t bytes, int advice)
{
	if (fails(PAGES) && advice != 14) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_madvise, at, bytes, advice);
}
#endif

/* Reading memory of all ranks, or memory side by side, causes no page faults. Threads have one count, and a
 * kernel before 5.14 maps nothing ahead. */
static int faults_main(struct rt_job *job, void *arg)
{
	struct world w;
	struct rusage before, after;
	enum { PAGES_READ = 600, FEW = 20 };
	const int all[] = {0, 1};
	void *at, *view;
	long sum = 0;
	(void)arg;
	if (!open_world(job, "shm", &w) ||
	    rt_transport_alloc(w.t, w.device, PAGES_READ * PAGE, "buffers", &at) != STATUS_OK ||
	    rt_transport_side_by_side(w.t, all, 2, 0, PAGES_READ * PAGE, &view) != STATUS_OK)
		return STATUS_INTERNAL;
	const volatile unsigned char *peer = rt_transport_peer(w.t, 1 - job->rank), *both = view;
	bool early = madvise(at, PAGE, 22 /* MADV_POPULATE_READ */) == 0;
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < PAGES_READ; i++)
		sum += peer[i * PAGE] + both[2 * i * PAGE];
	getrusage(RUSAGE_SELF, &after);
	long faults = after.ru_minflt - before.ru_minflt;
	bool good = sum == 2 * 0xff * PAGES_READ && (faults < FEW || !early);
	if (!good)
		printf("%ld page faults\n", faults);
	meet(&w);
	rt_transport_free(w.t, w.device, at);
	close_world(&w);
	return good ? STATUS_OK : STATUS_WRONG;
}

struct lack {
	int what;
	size_t bytes;
	const char *message;
};

static int lack_main(struct rt_job *job, void *arg)
{
	const struct lack *l = arg;
	struct world w;
	void *at = NULL;
	if (!open_world(job, "shm", &w))
		return STATUS_INTERNAL;
	rt_job_barrier(job, "the start");
	if (job->boot->name[0] == 'f' || job->rank == 1)
		this_job = job;
	failing = l->what;
	enum status status = rt_transport_alloc(w.t, w.device, l->bytes, "buffers", &at);
	close_world(&w);
	return status;
}

static int side_main(struct rt_job *job, void *arg)
{
	(void)arg;
	struct world w;
	void *at, *view;
	int ranks[64] = {0};
	if (!open_world(job, "shm", &w) ||
	    rt_transport_alloc(w.t, w.device, 64 << 20, "buffers", &at) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rlimit now, tight = {.rlim_cur = (size_t)512 << 20, .rlim_max = RLIM_INFINITY};
	getrlimit(RLIMIT_AS, &now);
	setrlimit(RLIMIT_AS, &tight);
	enum status status = rt_transport_side_by_side(w.t, ranks, 64, 0, 64 << 20, &view);
	setrlimit(RLIMIT_AS, &now);
	rt_transport_free(w.t, w.device, at);
	close_world(&w);
	return status;
}

static void test_lacks(void)
{
	static const struct lack lacks[] = {
	    {SIZES, 5 << 20,
	     "error: no shared memory for buffers of all ranks (12582912 bytes): No space left on device\n"},
	    {PAGES, 5 << 20, "error: no shared memory for buffers (5242880 bytes): Cannot allocate memory\n"},
	    {PAGES, 100, "error: no shared memory for buffers (100 bytes): Cannot allocate memory\n"},
	    {NONE, SIZE_MAX - 1, "error: no shared memory for buffers (18446744073709551614 bytes): Cannot "},
	    {NONE, (size_t)1 << 60,
	     "error: no shared memory for buffers of all ranks (2305843009213693952 bytes): this machine "
	     "has "},
	};
	for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
		struct captured c;
		launch_captured(RT_BOOT_FORK, 2, 5000, lack_main, (void *)&lacks[i], &c);
		CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
		CHECK(has(c.text, lacks[i].message));
		failing_rank = 1; /* only on one rank */
		launch_captured(RT_BOOT_FORK, 2, 5000, lack_main, (void *)&lacks[i], &c);
		CHECK_EQ(c.status, lacks[i].what == SIZES ? STATUS_OK : STATUS_DIAGNOSTICS);
		failing_rank = -1;
	}
	struct captured c;
	launch_captured(RT_BOOT_FORK, 2, 5000, side_main, NULL, &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text,
	          "error: no shared memory for memory side by side (4294967296 bytes): Cannot allocate "
	          "memory\n"));
	failing = FILES;
	launch_captured(RT_BOOT_FORK, 2, 5000, barrier_main, NULL, &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "error: memfd_create: Too many open files in system\n"));
	launch_captured(RT_BOOT_THREAD, 2, 5000, barrier_main, NULL, &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "error: no shared memory for the transport ("));
	failing = NONE;
}

/* No process can cut the memory that others use. */
static int cut_main(struct rt_job *job, void *arg)
{
	struct rt_region region;
	(void)arg;
	enum status status = job->boot->share(job, "a test", 1 << 16, &region);
	if (status != STATUS_OK)
		return status;
	CHECK(ftruncate(region.file, 0) < 0 && errno == EPERM);
	job->boot->unshare(job, &region);
	return check_failures ? STATUS_WRONG : STATUS_OK;
}

int main(void)
{
	static const enum rt_boot_kind kinds[] = {RT_BOOT_THREAD, RT_BOOT_FORK};
	for (int k = 0; k <= TEST_FORK; k++)
		for (int np = 1; np <= 4; np++) {
			for (size_t i = 0; i < sizeof memory_sizes / sizeof *memory_sizes; i++)
				CHECK_EQ(launch(kinds[k], np, 30000, peers_main, (void *)&memory_sizes[i]),
				         STATUS_OK);
			CHECK_EQ(launch(kinds[k], np, 30000, barrier_main, NULL), STATUS_OK);
		}
	for (int k = 0; k <= TEST_FORK; k++)
		CHECK_EQ(launch(kinds[k], 2, 30000, cut_main, NULL), STATUS_OK);
	if (TEST_FORK && TEST_FAULTS)
		CHECK_EQ(launch(RT_BOOT_FORK, 2, 30000, faults_main, NULL), STATUS_OK);
	if (CAN_FAIL)
		test_lacks();
	return check_result();
}
