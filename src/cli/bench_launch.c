/* bench_launch: starts ranks for each transport of --transport.
 *
 * The ranks write their times to a file without a name, so that this process can print them side by side. */
#include "cli/bench.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

bool bench_transports(struct bench *b)
{
	for (const char *at = b->ranks.transport; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		char *name = mem_strdup(at);
		name[strcspn(at, ",")] = 0;
		for (uint32_t k = 0; k < b->transport.n; k++)
			if (!strcmp(b->transport.at[k], name)) {
				fprintf(stderr, "hirc bench: error: --transport: %s is there twice\n", name);
				free(name);
				return false;
			}
		vec_push(&b->transport, name);
	}
	if (b->transport.n == 1)
		return true;
	if (b->file.n)
		fprintf(stderr, "hirc bench: error: --transport takes several for collectives, and one for "
		                "programs\n");
	else if (rt_boot_choose(rank_options_launch(&b->ranks).kind) == RT_BOOT_MPI)
		fprintf(stderr,
		        "hirc bench: error: --transport takes one under a launcher, which starts the ranks "
		        "once\n");
	else
		return true;
	return false;
}

/* Opens a file without a name; NULL with errno. */
static FILE *open_memory(void)
{
	int memory = memfd_create("hirc bench", MFD_CLOEXEC);
	FILE *f = memory < 0 ? NULL : fdopen(memory, "w+");
	if (!f && memory >= 0)
		close(memory);
	return f;
}

/* ---- one process for each transport */

/* Finds the reason of a failure: the first line of the messages that is an error. */
static void find_reason(const struct buf *messages, struct buf *out)
{
	static const char mark[] = "error: ";
	const char *at = messages->n ? strstr(messages->at, mark) : NULL;
	at = at ? at + strlen(mark) : messages->n ? messages->at : "it ended without a message";
	buf_putn(out, at, strcspn(at, "\n"));
}

static bool read_all(FILE *f, struct buf *out)
{
	char piece[4096];
	size_t n;
	rewind(f);
	while ((n = fread(piece, 1, sizeof piece, f)) > 0)
		buf_putn(out, piece, n);
	return !ferror(f);
}

static _Noreturn void be_child(const struct bench *b, pid_t parent, int messages,
                               int (*rank_main)(struct rt_job *, void *), void *arg)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || dup2(messages, STDERR_FILENO) < 0)
		_exit(STATUS_INTERNAL);
	enum status status = rt_launch(&b->launch, rank_main, arg);
	_exit(fflush(NULL) ? STATUS_DIAGNOSTICS : (int)status);
}

static enum status launch_apart(const struct bench *b, int (*rank_main)(struct rt_job *, void *), void *arg,
                                struct buf *messages)
{
	FILE *file = open_memory();
	pid_t parent = getpid(), child = file ? fork() : -1;
	if (child == 0)
		be_child(b, parent, fileno(file), rank_main, arg);
	int how = 0, error = errno;
	while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
		;
	if (child > 0)
		read_all(file, messages);
	else
		buf_printf(messages, "hirc bench: error: cannot start ranks: %s\n", strerror(error));
	if (file)
		fclose(file);
	if (child <= 0)
		return STATUS_DIAGNOSTICS;
	return WIFEXITED(how) ? (enum status)WEXITSTATUS(how) : STATUS_INTERNAL;
}

/* ---- launching */

/* Makes `auto` start threads if the transport needs them. */
static void choose_launch(struct bench *b, uint32_t k)
{
	const char *name = b->transport.at[k];
	b->ranks.transport = name;
	b->launch.kind = rank_options_launch(&b->ranks).kind;
	if (!strcmp(b->ranks.bootstrap, "auto") && b->launch.kind == RT_BOOT_FORK &&
	    transport_kind_has(transport_kind_find(name), TRANSPORT_NEEDS_THREADS))
		b->launch.kind = RT_BOOT_THREAD;
}

enum status bench_launch(struct bench *b, uint32_t transport, int (*rank_main)(struct rt_job *, void *),
                         void *arg, struct bench_outcome *out)
{
	struct buf messages = {0};
	const struct rank_options asked = b->ranks;
	*out = (struct bench_outcome){.transport = b->transport.at[transport], .results = open_memory()};
	if (!out->results) {
		buf_printf(&out->why, "no memory for the measurements of the ranks: %s", strerror(errno));
		fprintf(stderr, "hirc bench: error: %s\n", out->why.at);
		return out->status = STATUS_DIAGNOSTICS;
	}
	choose_launch(b, transport);
	b->results = fileno(out->results);
	fflush(NULL);
	if (b->transport.n == 1) {
		out->status = rt_launch(&b->launch, rank_main, arg);
	} else {
		if (!transport_kind_has(rank_options_transport(&b->ranks), TRANSPORT_HAS_P2P_OPTIONS))
			b->ranks.p2p_protocol = b->ranks.p2p_transport = "auto";
		out->status = launch_apart(b, rank_main, arg, &messages);
	}
	b->ranks = asked;
	b->results = -1;
	rewind(out->results);
	if (!bench_outcome_is_measured(out))
		find_reason(&messages, &out->why);
	if (messages.n && out->status != STATUS_ABSENT)
		fputs(messages.at, stderr);
	buf_free(&messages);
	return out->status;
}

void bench_outcome_free(struct bench_outcome *o)
{
	buf_free(&o->why);
	if (o->results)
		fclose(o->results);
}

enum status bench_outcomes_status(const struct bench_outcome *o, uint32_t n)
{
	enum status failed = STATUS_OK, absent = STATUS_OK, wrong = STATUS_OK;
	bool measured = false;
	for (uint32_t k = 0; k < n; k++) {
		measured |= bench_outcome_is_measured(&o[k]);
		if (o[k].status == STATUS_WRONG)
			wrong = o[k].status;
		else if (o[k].status == STATUS_ABSENT)
			absent = o[k].status;
		else if (failed == STATUS_OK)
			failed = o[k].status;
	}
	return failed != STATUS_OK ? failed : wrong != STATUS_OK ? wrong : measured ? STATUS_OK : absent;
}

/* ---- results */

enum status bench_results_write(struct rt_job *job, const struct bench *b, const void *from, size_t bytes)
{
	const char *at = from;
	while (bytes) {
		ssize_t n = write(b->results, at, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rt_job_error(job, "cannot write the measurements: %s", strerror(errno));
			return rt_job_fail(job, STATUS_DIAGNOSTICS);
		}
		at += n;
		bytes -= (size_t)n;
	}
	return STATUS_OK;
}
