/* doctor_launcher: starts 2 ranks by mpirun or srun, and finds the reason if that fails. */
#include "base/program.h"
#include "rt/doctor.h"
#include "rt/environment.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 16, MAX_OUTPUT = 64 << 10 };

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Runs it in a process group of its own, which has ended when this returns. Returns its exit code; -1:
 * it ended by a signal; -2: it took too long; -3: it did not start, see errno. said: text of both output
 * streams. */
static int run_launcher(char *const *argv, int seconds, struct buf *said)
{
	int ends[2], status = 0;
	if (pipe(ends) < 0)
		return -3;
	pid_t pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return -3;
	}
	if (pid == 0) {
		setpgid(0, 0);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		signal(SIGPIPE, SIG_DFL);
		execv(argv[0], argv);
		_exit(127);
	}
	setpgid(pid, pid); /* both processes call this; the first one has the effect */
	close(ends[1]);
	int64_t until = now_ms() + (int64_t)seconds * 1000;
	bool late = false;
	for (;;) {
		int64_t left = until - now_ms();
		struct pollfd p = {.fd = ends[0], .events = POLLIN};
		int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		late = ready == 0;
		if (ready <= 0)
			break;
		char text[4096];
		ssize_t n = read(ends[0], text, sizeof text);
		if (n <= 0)
			break;
		if (said->n < MAX_OUTPUT)
			buf_putn(said, text, (size_t)n);
	}
	close(ends[0]);
	if (late)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL); /* kills processes that it has left behind */
	return late ? -2 : WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns the most useful line: the first with `error`, or the first that has letters. */
static struct buf reason(const char *said)
{
	struct buf out = {0};
	for (unsigned pass = 0; pass < 2 && !out.n; pass++)
		for (const char *line = said; *line && !out.n;) {
			size_t n = strcspn(line, "\n");
			struct buf one = {0};
			buf_putn(&one, line, n);
			if (one.n && strspn(one.at, "-= \t") < one.n && (pass || strstr(one.at, "rror")))
				buf_puts(&out, one.at);
			buf_free(&one);
			line += n + (line[n] == '\n');
		}
	buf_puts(&out, out.n ? "" : "it says nothing");
	return out;
}

static void explain_launch(struct findings *f, const char *launcher, int code, int seconds, const char *said)
{
	if (code == -2) {
		finding_add(f, FINDING_WARNING, "launcher",
		            "mpirun --mca btl_base_verbose 30 -np 2 hirc run …",
		            "2 ranks of %s have not ended within %d s: they may not reach each other",
		            launcher, seconds);
	} else if (strstr(said, "run as root") || strstr(said, "running as root") ||
	           strstr(said, "RUN_AS_ROOT")) {
		finding_add(f, FINDING_WARNING, "launcher",
		            "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		            "%s refuses to start ranks as root", launcher);
	} else if (strstr(said, "not enough slots")) {
		finding_add(f, FINDING_WARNING, "launcher",
		            "export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1",
		            "%s starts no more ranks than there are cores, and here not 2", launcher);
	} else {
		struct buf why = reason(said);
		finding_add(f, FINDING_WARNING, "launcher", NULL, "%s did not run 2 ranks: %s", launcher,
		            why.at);
		buf_free(&why);
	}
}

void rt_doctor_launcher(struct findings *f, char *const *argv, int seconds)
{
	struct buf path = {0}, said = {0};
	char *words[MAX_WORDS] = {0};
	int n = 0;
#ifndef HIRC_HAVE_MPI
	(void)argv, (void)seconds;
	return;
#endif
	if (rt_env_launched()) {
		finding_add(f, FINDING_OK, "launcher", NULL, "has started this process, and so is not tried");
		return;
	}
	const char *name = program_find("mpirun", &path) ? "mpirun"
	                   : program_find("srun", &path) ? "srun"
	                                                 : NULL;
	if (!name) {
		finding_add(f, FINDING_MISSING, "launcher", "apt-get install openmpi-bin",
		            "neither mpirun nor srun is found: hirc starts ranks of one host itself");
		buf_free(&path);
		return;
	}
	words[n++] = path.at;
	words[n++] = strcmp(name, "srun") ? "-np" : "-n";
	words[n++] = "2";
	for (int k = 0; argv[k] && n + 1 < MAX_WORDS; k++)
		words[n++] = argv[k];
	buf_puts(&said, "");
	int64_t start = now_ms();
	int code = run_launcher(words, seconds, &said);
	if (code == 0)
		finding_add(f, FINDING_OK, "launcher", NULL, "%s ran 2 ranks in %.1f s", name,
		            (double)(now_ms() - start) / 1000);
	else
		explain_launch(f, name, code, seconds, said.at);
	buf_free(&path);
	buf_free(&said);
}
