/* child: runs a command by `sh -c` in its own session, and reads its output through pipes.
 *
 * The caller polls the pipes, calls golden_child_read for those with data, and golden_child_ended after a
 * SIGCHLD. When the command ends, all processes left in its process group are killed. */
#ifndef HIRC_GOLDEN_CHILD_H
#define HIRC_GOLDEN_CHILD_H
#include "base/str.h"
#include <stdbool.h>
#include <sys/types.h>

struct golden_child {
	pid_t pid;          /* of sh, and of its process group; 0: nothing runs */
	int pipe[2];        /* standard output and error; -1: closed */
	struct buf text[2]; /* the received text; owned */
	size_t most;        /* bytes of both together that are kept; further ones are dropped */
	bool flooded;       /* bytes were dropped */
};

/* Starts `sh -c command` in a folder, with empty standard input. Returns false with the reason in errno. */
bool golden_child_start(struct golden_child *c, const char *command, const char *folder, char **environment);
/* Reads the available data of pipe i; closes the pipe at its end. */
void golden_child_read(struct golden_child *c, int i);
/* Returns true if the child has ended. Then all of its output has been read, and *code is its exit code or
 * 128 + the signal. */
bool golden_child_ended(struct golden_child *c, int *code);
/* Waits for its end and returns its code. Kills it if it prints nothing for this many seconds, or too
 * much. */
int golden_child_wait(struct golden_child *c, int64_t seconds);
/* Sends a signal to its process group. */
void golden_child_signal(const struct golden_child *c, int signal);
/* May also be called for a child that was not started, if its pipes are closed. */
void golden_child_free(struct golden_child *c);

#endif
