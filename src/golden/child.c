/* child: see child.h. */
#include "golden/child.h"
#include "base/arena.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUT, ERR };
enum { GLANCE = 5 }; /* ms between two tests if a child has ended */

static void close_pipe(struct golden_child *c, int i)
{
	if (c->pipe[i] >= 0)
		close(c->pipe[i]);
	c->pipe[i] = -1;
}

/* In the child: becomes sh in its own session, with the default handling of signals (hirc blocks some and
 * ignores others), its files and its folder. The caller uses fork, because posix_spawn waits until the child
 * runs on a core. */
static void become_shell(const char *command, const char *folder, char **environment, const int write_end[2])
{
	static const int ignored[] = {SIGPIPE, SIGXFSZ};
	char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, mem_strdup(command), NULL};
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);
	setsid();
	for (unsigned i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(write_end[OUT], STDOUT_FILENO) >= 0 && dup2(write_end[ERR], STDERR_FILENO) >= 0 &&
	    null >= 0 && dup2(null, STDIN_FILENO) >= 0 && chdir(folder) == 0) {
		if (null > STDERR_FILENO)
			close(null);
		execve("/bin/sh", argv, environment);
	}
	dprintf(STDERR_FILENO, "cannot run /bin/sh in %s: %s\n", folder, strerror(errno));
	_exit(127);
}

bool golden_child_start(struct golden_child *c, const char *command, const char *folder, char **environment)
{
	int ends[2][2] = {{-1, -1}, {-1, -1}}, error = 0;
	c->pid = 0;
	if (pipe2(ends[OUT], O_CLOEXEC) != 0 || pipe2(ends[ERR], O_CLOEXEC) != 0 ||
	    fcntl(ends[OUT][0], F_SETFL, O_NONBLOCK) != 0 || fcntl(ends[ERR][0], F_SETFL, O_NONBLOCK) != 0)
		error = errno;
	if (!error)
		c->pid = fork();
	if (!error && c->pid < 0)
		error = errno;
	if (!error && c->pid == 0)
		become_shell(command, folder, environment, (int[]){ends[OUT][1], ends[ERR][1]});
	for (int i = 0; i < 2; i++) {
		c->pipe[i] = ends[i][0];
		if (ends[i][1] >= 0)
			close(ends[i][1]);
		if (error)
			close_pipe(c, i);
	}
	if (!error)
		return true;
	c->pid = 0;
	errno = error;
	return false;
}

/* Reads at most one block of the available output. Returns false if there is none. */
static bool read_some(struct golden_child *c, int i)
{
	char block[64 << 10];
	ssize_t n = read(c->pipe[i], block, sizeof block);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (n <= 0) {
		close_pipe(c, i);
		return false;
	}
	size_t room = c->most - c->text[OUT].n - c->text[ERR].n;
	c->flooded = c->flooded || (size_t)n > room;
	buf_putn(&c->text[i], block, (size_t)n < room ? (size_t)n : room);
	return true;
}

void golden_child_read(struct golden_child *c, int i)
{
	if (c->pipe[i] >= 0)
		read_some(c, i);
}

bool golden_child_ended(struct golden_child *c, int *code)
{
	siginfo_t info = {0};
	if (!c->pid || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || !info.si_pid)
		return false;
	/* sh has not been waited for, so no other group can have its number */
	kill(-c->pid, SIGKILL);
	for (int i = 0; i < 2; i++) {
		while (c->pipe[i] >= 0 && !c->flooded && read_some(c, i))
			;
		close_pipe(c, i);
	}
	int status;
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	*code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return true;
}

int golden_child_wait(struct golden_child *c, int64_t seconds)
{
	int code = 0;
	int64_t left = seconds * 1000 / GLANCE;
	while (!golden_child_ended(c, &code)) {
		struct pollfd at[2] = {{c->pipe[OUT], POLLIN, 0}, {c->pipe[ERR], POLLIN, 0}};
		poll(at, 2, GLANCE);
		for (int i = 0; i < 2; i++)
			if (at[i].revents)
				golden_child_read(c, i);
		if ((!at[OUT].revents && !at[ERR].revents && --left < 0) || c->flooded)
			golden_child_signal(c, SIGKILL);
	}
	return code;
}

void golden_child_signal(const struct golden_child *c, int signal)
{
	if (c->pid)
		kill(-c->pid, signal);
}

void golden_child_free(struct golden_child *c)
{
	for (int i = 0; i < 2; i++) {
		close_pipe(c, i);
		buf_free(&c->text[i]);
	}
}
