/* golden_run: the loop that starts tests, reads the output of their commands and notices their ends.
 *
 * SIGCHLD, and the signals that end hirc, are read from a file descriptor, so that one poll waits for
 * everything. Tests are reported in order: the result of a test is kept until all earlier ones are done. */
#include "golden/golden_run.h"
#include "golden/golden_environment.h"
#include "golden/golden_job.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct runner {
	struct golden_options *options;
	struct golden_job *job; /* one for each of options->jobs */
	bool *active;           /* by job */
	struct result {
		bool done;
		struct golden_result result;
	} * result;              /* by path */
	uint32_t n, next, shown; /* number of paths; the next one to start, and to report */
	struct pollfd *file;     /* signals, then two for each job */
	int signal;              /* the signal that ends the run; 0: none */
};

static void finish_job(struct runner *r, struct golden_job *j)
{
	r->result[j->index] = (struct result){true, j->result};
	golden_job_free(j);
	for (; r->shown < r->n && r->result[r->shown].done && !r->signal; r->shown++) {
		struct golden_result *done = &r->result[r->shown].result;
		r->options->report(r->options->to, r->shown, done);
		buf_free(&done->diff);
		buf_free(&done->words);
	}
}

static void start_jobs(struct runner *r, char *const *path)
{
	for (uint32_t i = 0; i < r->options->jobs; i++)
		while (!r->active[i] && r->next < r->n && !r->signal) {
			uint32_t index = r->next++;
			r->active[i] = golden_job_start(&r->job[i], r->options, path[index], index);
			if (!r->active[i])
				finish_job(r, &r->job[i]);
		}
}

static bool is_busy(const struct runner *r)
{
	for (uint32_t i = 0; i < r->options->jobs; i++)
		if (r->active[i])
			return true;
	return false;
}

/* Returns the milliseconds until the next test runs out of time. */
static int wait_ms(const struct runner *r)
{
	int64_t end = INT64_MAX, now = golden_now();
	for (uint32_t i = 0; i < r->options->jobs; i++)
		if (r->active[i] && r->job[i].end < end)
			end = r->job[i].end;
	int64_t ms = end == INT64_MAX ? 1000 : end <= now ? 0 : (end - now) / 1000000 + 1;
	return ms > 1000 ? 1000 : (int)ms;
}

static void read_signals(struct runner *r)
{
	struct signalfd_siginfo info;
	while (read(r->file[0].fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		r->signal = (int)info.ssi_signo;
		for (uint32_t i = 0; i < r->options->jobs; i++)
			if (r->active[i])
				r->job[i].end = 0; /* its next stage begins at once */
	}
}

static void poll_jobs(struct runner *r)
{
	for (uint32_t i = 0; i < r->options->jobs; i++) {
		struct golden_job *j = &r->job[i];
		r->file[1 + 2 * i].fd = r->active[i] ? j->child.pipe[0] : -1;
		r->file[2 + 2 * i].fd = r->active[i] ? j->child.pipe[1] : -1;
	}
	if (poll(r->file, 1 + 2 * (nfds_t)r->options->jobs, wait_ms(r)) < 0)
		return; /* EINTR: the next poll sees it */
	read_signals(r);
	for (uint32_t i = 0; i < r->options->jobs; i++) {
		struct golden_job *j = &r->job[i];
		int code;
		if (!r->active[i])
			continue;
		for (int k = 0; k < 2; k++)
			if (r->file[1 + 2 * i + (uint32_t)k].revents)
				golden_child_read(&j->child, k);
		golden_job_hurry(j, golden_now());
		if (!golden_child_ended(&j->child, &code))
			continue;
		r->active[i] = golden_job_next(j, code);
		if (r->active[i] && r->signal)
			j->end = 0;
		if (!r->active[i])
			finish_job(r, j);
	}
}

int golden_run(struct golden_options *o, char *const *path, uint32_t n)
{
	sigset_t ours, before;
	struct runner r = {.options = o, .n = n};
	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	r.job = mem_zalloc(sizeof *r.job * o->jobs);
	r.active = mem_zalloc(sizeof *r.active * o->jobs);
	r.result = mem_zalloc(sizeof *r.result * (n + 1));
	r.file = mem_zalloc(sizeof *r.file * (1 + 2 * (size_t)o->jobs));
	for (uint32_t i = 0; i < 1 + 2 * o->jobs; i++)
		r.file[i].events = POLLIN;
	o->feature.hirc = o->hirc;
	o->feature.environment = golden_environment_make();
	sigprocmask(SIG_BLOCK, &ours, &before);
	r.file[0].fd = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
	for (start_jobs(&r, path); is_busy(&r); start_jobs(&r, path))
		poll_jobs(&r);
	if (r.file[0].fd >= 0)
		close(r.file[0].fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (uint32_t i = r.shown; i < n; i++) {
		buf_free(&r.result[i].result.diff);
		buf_free(&r.result[i].result.words);
	}
	golden_environment_free(o->feature.environment);
	free(r.job);
	free(r.active);
	free(r.result);
	free(r.file);
	return r.signal;
}
