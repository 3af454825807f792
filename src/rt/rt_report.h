/* rt_report: the table of the statements in which all ranks of a host stand, for a job that hangs or dies.
 *
 *     rank 0 message: waiting in  recv(Y, peer=1 - rank) as r  (f.hir:5)  for  rank 1
 *     rank 0 main: waiting in  wait(r)  (f.hir:6)  for  recv(Y, peer=1 - rank) as r  (f.hir:5)
 *         after  relu(X)  (f.hir:4) iteration 2
 *     rank 1: stopped
 *     rank 1 main: done with  relu(X)  (f.hir:4) iteration 1
 *     rank 0 waits for rank 1
 *
 * Streams that are done with all are shown of ranks that stand in nothing. All is read from the board, which
 * may change meanwhile, and written by write(2) alone: handlers of signals may call these functions. */
#ifndef HIRC_RT_RT_REPORT_H
#define HIRC_RT_RT_REPORT_H
#include "base/status.h"
#include "rt/board.h"

/* Text on its way to a file descriptor. */
struct rt_text {
	int file;
	size_t n;
	char at[4096];
};

void rt_text_puts(struct rt_text *t, const char *s);
void rt_text_int(struct rt_text *t, int64_t i);
void rt_text_send(struct rt_text *t);

/* The table. */
void rt_report_put(const struct rt_board *b, struct rt_text *t);

/* Returns true if the process of a rank is stopped, as by SIGSTOP. */
bool rt_report_is_stopped(const struct rt_board *b, int rank);

/* Sets the status that ends the job, and tells the launcher of it. False: the job has one. */
bool rt_report_end(struct rt_board *b, int rank, enum status status);

/* Prints a first line, without its newline, and the table on standard error, unless somebody has done so or
 * the job has failed; then ends the job. Returns true if it was printed; if not, the job has failed when this
 * returns, but for a reporter who died. rank: who says it; -1: the launcher. */
bool rt_report(struct rt_board *b, int rank, const char *first, enum status status);

#endif
