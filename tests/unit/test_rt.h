/* test_rt: helpers of the tests of the runtime: they run a job and capture its output. */
#ifndef HIRC_TESTS_TEST_RT_H
#define HIRC_TESTS_TEST_RT_H
#include "check.h"
#include "rt/bootstrap.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_THREAD__
enum { TEST_FORK = 0 }; /* the thread sanitizer needs one process */
#else
enum { TEST_FORK = 1 };
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_FAULTS = 0 }; /* sanitizers take page faults, too */
#else
enum { TEST_FAULTS = 1 };
#endif

struct captured {
	enum status status;
	char text[8192]; /* standard error */
};

static inline enum status launch(enum rt_boot_kind kind, int np, int64_t timeout_ms,
                                 int (*rank_main)(struct rt_job *, void *), void *arg)
{
	struct rt_launch_options o = {.kind = kind, .np = np, .timeout_ms = timeout_ms};
	return rt_launch(&o, rank_main, arg);
}

/* Runs a job with standard error going to out->text. */
static inline void launch_captured(enum rt_boot_kind kind, int np, int64_t timeout_ms,
                                   int (*rank_main)(struct rt_job *, void *), void *arg, struct captured *out)
{
	int file = memfd_create("stderr", 0), saved = dup(STDERR_FILENO);
	dup2(file, STDERR_FILENO);
	out->status = launch(kind, np, timeout_ms, rank_main, arg);
	dup2(saved, STDERR_FILENO);
	close(saved);
	ssize_t n = pread(file, out->text, sizeof out->text - 1, 0);
	out->text[n > 0 ? n : 0] = 0;
	close(file);
}

static inline bool has(const char *text, const char *part)
{
	if (strstr(text, part))
		return true;
	printf("not found: %s\n--- in:\n%s\n", part, text);
	return false;
}

#endif
