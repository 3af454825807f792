/* run_trace: writes the results of --trace and --profile.
 *
 * Ranks of one host share its monotonic clock. For ranks on several hosts the offsets are measured: all ranks
 * read their clocks after each of several barriers, and the median of the differences to rank 0's clock
 * counts. */
#include "base/file.h"
#include "cli/output.h"
#include "cli/run.h"
#include "exec/executions.h"
#include "exec/profile.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 31, CHUNK = 1 << 16, HOST_BYTES = 64 };

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Collective. Finds the offset to add to this rank's clock to get rank 0's. */
static enum status clock_offset(struct rt_job *job, int64_t *out)
{
	char host[HOST_BYTES] = {0}, *hosts = mem_zalloc((size_t)job->size * HOST_BYTES);
	int64_t difference[LOOKS], *all = mem_zalloc(sizeof *all * (size_t)job->size);
	bool same = true;
	gethostname(host, sizeof host - 1);
	enum status status = rt_job_allgather(job, "the names of hosts", host, sizeof host, hosts);
	for (int k = 0; k < job->size; k++)
		same &= !memcmp(hosts + (size_t)k * HOST_BYTES, hosts, HOST_BYTES);
	for (int k = 0; k < LOOKS && status == STATUS_OK && !same; k++) {
		status = rt_job_barrier(job, "the clocks");
		int64_t mine = now_ns();
		if (status == STATUS_OK)
			status = rt_job_allgather(job, "the clocks", &mine, sizeof mine, all);
		difference[k] = all[0] - mine;
	}
	*out = 0;
	if (status == STATUS_OK && !same) {
		qsort(difference, LOOKS, sizeof *difference, by_value);
		*out = difference[LOOKS / 2];
	}
	free(hosts);
	free(all);
	return status;
}

/* Collective. Collects the texts of all ranks on rank 0, one after the other. */
static enum status collect_traces(struct rt_job *job, const struct buf *mine, struct buf *out)
{
	int64_t n = (int64_t)mine->n, most = 0, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	struct buf *text = mem_zalloc(sizeof *text * (size_t)job->size);
	char *here = mem_zalloc(CHUNK), *there = mem_zalloc(CHUNK * (size_t)job->size);
	enum status status = rt_job_allgather(job, "the size of a trace", &n, sizeof n, all);
	for (int k = 0; k < job->size; k++)
		most = all[k] > most ? all[k] : most;
	for (int64_t at = 0; at < most && status == STATUS_OK; at += CHUNK) {
		int64_t own = n - at < CHUNK ? n - at : CHUNK;
		if (own > 0)
			memcpy(here, mine->at + at, (size_t)own);
		status = rt_job_allgather(job, "a trace", here, CHUNK, there);
		for (int k = 0; k < job->size && job->rank == 0 && status == STATUS_OK; k++) {
			int64_t some = all[k] - at < CHUNK ? all[k] - at : CHUNK;
			if (some > 0)
				buf_putn(&text[k], there + (size_t)k * CHUNK, (size_t)some);
		}
		rt_job_progress(job);
	}
	for (int k = 0; k < job->size; k++) {
		buf_putn(out, text[k].at ? text[k].at : "", text[k].n);
		buf_free(&text[k]);
	}
	free(text);
	free(all);
	free(here);
	free(there);
	return status;
}

static bool write_file(struct rt_job *job, const char *path, const struct buf *text)
{
	static const char head[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", tail[] = "\n]}\n";
	size_t from = text->n > 0; /* each event has `,\n` before it */
	struct file_part parts[] = {
	    {head, sizeof head - 1}, {text->at + from, text->n - from}, {tail, sizeof tail - 1}};
	bool ok = file_replace(path, parts, sizeof parts / sizeof *parts);
	if (!ok)
		rt_job_error(job, "--trace: cannot write '%s': %s", path, strerror(errno));
	return ok;
}

static enum status write_trace(struct rt_job *job, const struct run *r, const struct trace_spans *s,
                               const struct trace_clock *clock)
{
	struct buf mine = {0}, all = {0};
	trace_json(job, s, clock, &mine);
	enum status status = collect_traces(job, &mine, &all);
	if (status == STATUS_OK && job->rank == 0 && !write_file(job, r->trace, &all))
		status = rt_job_fail(job, STATUS_DIAGNOSTICS);
	buf_free(&mine);
	buf_free(&all);
	return status;
}

/* Collective. *zero becomes the time of the first event, by rank 0's clock. Rank 0 reports dropped events. */
static enum status summarise_traces(struct rt_job *job, const struct trace_spans *s, uint64_t dropped,
                                    int64_t offset, int64_t *zero)
{
	struct summary {
		int64_t first, dropped;
	} mine = {s->n ? s->at[0].begin + offset : INT64_MAX, (int64_t)dropped},
	  *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "the start of the trace", &mine, sizeof mine, all);
	*zero = INT64_MAX;
	for (int k = 0; k < job->size && status == STATUS_OK; k++) {
		*zero = all[k].first < *zero ? all[k].first : *zero;
		if (all[k].dropped && job->rank == 0)
			fprintf(stderr,
			        "note: rank %d: %lld events were dropped; --trace-events=N keeps more\n", k,
			        (long long)all[k].dropped);
	}
	free(all);
	return status;
}

/* Leaves out the first of several runs, which sets up kernels and pages for the others: profiles do not count
 * it. */
static struct trace_spans but_the_first_run(const struct trace *t, const struct trace_spans *s)
{
	uint64_t k = 0;
	while (t->run.n > 1 && k < s->n && s->at[k].run == 0)
		k++;
	return (struct trace_spans){s->at + k, s->n - k};
}

static enum status make_trace(struct rt_job *job, const struct run *r, struct trace_spans *s,
                              const struct trace_clock *clock)
{
	struct executions own = executions_own(job, s, clock->offset), all = {0};
	enum status status = executions_all(job, &own, &all);
	if (status == STATUS_OK) {
		executions_meet(job, &all, clock->offset, s);
		status = write_trace(job, r, s, clock);
	}
	free(own.at);
	free(all.at);
	return status;
}

static enum status make_profile(struct rt_job *job, const struct run *r, const struct trace_spans *s,
                                const struct trace_clock *clock, struct buf *out)
{
	struct executions own = executions_own(job, s, clock->offset), all = {0};
	enum status status = executions_all(job, &own, &all);
	if (status == STATUS_OK)
		status = profile_print(job, s, &all, clock->error, r->json ? TABLE_JSON : TABLE_TEXT, out);
	free(own.at);
	free(all.at);
	return status;
}

enum status run_trace(struct rt_job *job, const struct run *r, const struct trace *t, struct buf *profile)
{
	struct trace_spans s = trace_spans(t), later = but_the_first_run(t, &s);
	struct trace_clock clock = {.error = t->tracer.error_ns};
	enum status status = clock_offset(job, &clock.offset);
	if (status == STATUS_OK)
		status = summarise_traces(job, &s, trace_dropped(t), clock.offset, &clock.zero);
	if (status == STATUS_OK && r->trace)
		status = make_trace(job, r, &s, &clock);
	if (status == STATUS_OK && r->profile)
		status = make_profile(job, r, &later, &clock, profile);
	free(s.at);
	return status;
}
