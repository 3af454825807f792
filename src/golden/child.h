/* child: a command of `sh -c` with its own session, whose output is read through pipes.
 *
 * Whoever has started one polls its pipes, calls golden_child_read for those that have something, and
 * golden_child_ended after a SIGCHLD. At its end all that it has left in its process group is killed. */
#ifndef HIRC_GOLDEN_CHILD_H
#define HIRC_GOLDEN_CHILD_H
#include "base/str.h"
#include <stdbool.h>
#include <sys/types.h>

struct golden_child {
	pid_t pid;          /* of sh, and of its process group; 0: none runs */
	int pipe[2];        /* standard output and error; -1: closed */
	struct buf text[2]; /* the received text; owned */
	size_t most;        /* bytes of both together; later ones are dropped */
	bool flooded;       /* there were more */
};

/* Starts `sh -c command` in a folder; standard input is empty. False: errno says why. */
bool golden_child_start(struct golden_child *c, const char *command, const char *folder, char **environment);
/* Reads the data available in pipe i, and closes it at its end. */
void golden_child_read(struct golden_child *c, int i);
/* Returns true if the child has ended: then all of its output is there, and *code is its exit code or 128 +
 * the signal. */
bool golden_child_ended(struct golden_child *c, int *code);
/* Waits for its end and returns its code; kills it when it has said nothing for so long, or too much. */
int golden_child_wait(struct golden_child *c, int64_t seconds);
/* Sends a signal to its process group. */
void golden_child_signal(const struct golden_child *c, int signal);
/* Also of one that was not started, if its pipes are closed. */
void golden_child_free(struct golden_child *c);

#endif
