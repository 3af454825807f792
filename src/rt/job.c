/* job: prints messages, sets the status that ends the job, and runs the watchdog. */
#include "rt/job.h"
#include "base/escape.h"
#include "rt/bell.h"
#include "rt/bootstrap.h"
#include "rt/rank_alive.h"
#include "rt/rt_report.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes with one call, so that messages of several ranks do not mix. */
static void write_all(int fd, const char *at, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return;
		at += k;
		n -= (size_t)k;
	}
}

/* Appends " (on host)" if the ranks are on several hosts. */
static void put_host(const struct rt_job *job, struct buf *b)
{
	const int *host_of = job->boot && job->boot->hosts ? job->boot->hosts(job) : NULL;
	bool several = false;
	for (int r = 1; host_of && r < job->size; r++)
		several |= host_of[r] != host_of[0];
	if (several)
		buf_printf(b, " (on %s)", job->host);
}

/* Returns true if this rank prints why the job ends: the first rank that has a message, even before it
 * has recorded the status and while others find the same error. If it is killed before it has printed,
 * the others stay silent. Its death is then reported by the launcher or by the rank that finds it
 * (rt_report), which do not ask here. */
static bool speaks(struct rt_job *job)
{
	int speaker = 0, self = job->rank + 2;
	return rt_job_status(job) == STATUS_OK &&
	       (!job->board || atomic_compare_exchange_strong(&job->board->speaker, &speaker, self) ||
	        speaker == self);
}

static void print_error(struct rt_job *job, struct rt_origin at, const char *format, va_list args)
{
	if (!speaks(job))
		return;
	struct buf b = {0}, text = {0};
	if (job->rank >= 0)
		buf_printf(&b, "hirc: rank %d: error: ", job->rank);
	else
		buf_puts(&b, "hirc: error: ");
	buf_vprintf(&text, format, args);
	escape_put(&b, text.at, text.n);
	buf_free(&text);
	put_host(job, &b);
	if (at.label) {
		buf_puts(&b, " (in  ");
		rt_board_label(job->board, job->rank, at.label, &b);
		if (at.iteration >= 0)
			buf_printf(&b, " iteration %lld", (long long)at.iteration);
		buf_putc(&b, ')');
	}
	buf_putc(&b, '\n');
	write_all(STDERR_FILENO, b.at, b.n);
	buf_free(&b);
}

void rt_job_error(struct rt_job *job, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print_error(job, (struct rt_origin){0}, format, args);
	va_end(args);
}

void rt_job_error_at(struct rt_job *job, struct rt_origin at, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	print_error(job, at, format, args);
	va_end(args);
}

enum status rt_job_fail(struct rt_job *job, enum status status)
{
	if (status != STATUS_OK)
		rt_report_end(job->board, job->rank, status);
	return rt_job_status(job);
}

enum status rt_job_status(const struct rt_job *job)
{
	return job->board ? (enum status)atomic_load_explicit(&job->board->status, memory_order_acquire)
	                  : STATUS_OK;
}

void rt_job_progress(struct rt_job *job)
{
	struct rt_board *b = job->board;
	_Atomic int64_t *progress = &b->rank[job->rank - b->first].progress;
	/* simultaneous increments may count as one: it is enough that the count changes */
	atomic_store_explicit(progress, atomic_load_explicit(progress, memory_order_relaxed) + 1,
	                      memory_order_relaxed);
}

enum {
	STOPPED_LOOK_US =
	    100000 /* interval at which processes are examined that compute for longer than the timeout */
};

bool rt_job_lost(struct rt_job *job)
{
	int lost = rt_alive_lost(job->board);
	if (lost < 0)
		return false;
	char why[96];
	snprintf(why, sizeof why, "the process of rank %d has died", lost);
	rt_report(job->board, job->rank, why, STATUS_INTERNAL);
	rt_job_fail(job, STATUS_INTERNAL);
	return true;
}

/* Returns the time for which nothing has moved. *computes: some rank computes. */
static int64_t measure_stillness(struct rt_watch *w, struct rt_job *job, bool *computes)
{
	const struct rt_board *b = job->board;
	int64_t progress = 0, now = rt_clock_us();
	bool computing = false;
	for (int r = 0; r < b->ranks; r++) {
		progress += atomic_load_explicit(&b->rank[r].progress, memory_order_relaxed);
		computing |= atomic_load_explicit(&b->rank[r].computing, memory_order_relaxed) != 0;
	}
	if (w->since_us == 0 || progress != w->progress) {
		w->since_us = now;
		w->progress = progress;
	}
	*computes = computing;
	if (rt_job_status(job) == STATUS_OK)
		rt_job_lost(job);
	return now - w->since_us;
}

/* Returns true if some rank computes and its process is not stopped. */
static bool some_run(struct rt_watch *w, const struct rt_board *b)
{
	int64_t now = rt_clock_us();
	if (now - w->stopped_us < STOPPED_LOOK_US)
		return true;
	w->stopped_us = now;
	for (int r = 0; r < b->ranks; r++)
		if (atomic_load_explicit(&b->rank[r].computing, memory_order_relaxed) &&
		    !rt_report_is_stopped(b, b->first + r))
			return true;
	return false;
}

bool rt_watch_expired(struct rt_watch *w, struct rt_job *job)
{
	bool computing;
	int64_t idle = measure_stillness(w, job, &computing), limit = job->timeout_ms * 1000;
	if (limit <= 0 || idle < limit)
		return false;
	return !computing || idle >= 10 * limit || !some_run(w, job->board);
}

int64_t rt_watch_idle_us(struct rt_watch *w, struct rt_job *job)
{
	bool computing;
	int64_t idle = measure_stillness(w, job, &computing);
	return computing ? 0 : idle;
}

enum status rt_job_stuck(struct rt_job *job, const char *why)
{
	struct buf text = {0};
	buf_puts(&text, why);
	put_host(job, &text);
	bool reported = rt_report(job->board, job->rank, text.at, STATUS_STUCK);
	buf_free(&text);
	if (!reported)
		return rt_job_fail(job, STATUS_STUCK);
	return STATUS_STUCK;
}

enum status rt_job_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes, void *all)
{
	return job->boot->allgather(job, what, mine, bytes, all);
}

enum status rt_job_barrier(struct rt_job *job, const char *what)
{
	return job->boot->allgather(job, what, NULL, 0, NULL);
}
