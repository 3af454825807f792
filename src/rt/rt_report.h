/* rt_report: prints the statements that all ranks of a host are in, for a job that hangs or dies.
 *
 *     rank 0 message: waiting in  recv(Y, peer=1 - rank) as r  (f.hir:5)  for  rank 1
 *     rank 0 main: waiting in  wait(r)  (f.hir:6)  for  recv(Y, peer=1 - rank) as r  (f.hir:5)
 *         after  relu(X)  (f.hir:4) iteration 2
 *     rank 1: stopped
 *     rank 1 main: done with  relu(X)  (f.hir:4) iteration 1
 *     rank 0 waits for rank 1
 *
 * Streams that are done with everything are shown only for ranks that are in no statement. All data is
 * read from the board, which may change meanwhile, and printed by write(2) only, so that signal handlers
 * may call these functions. */
#ifndef HIRC_RT_RT_REPORT_H
#define HIRC_RT_RT_REPORT_H
#include "base/status.h"
#include "rt/board.h"

/* Text that is written to a file descriptor. */
struct rt_text {
	int file;
	size_t n;
	char at[4096];
};

void rt_text_puts(struct rt_text *t, const char *s);
void rt_text_int(struct rt_text *t, int64_t i);
void rt_text_send(struct rt_text *t);

/* Prints the table. */
void rt_report_put(const struct rt_board *b, struct rt_text *t);

/* Returns true if the process of a rank is stopped, for instance by SIGSTOP. */
bool rt_report_is_stopped(const struct rt_board *b, int rank);

/* Sets the status that ends the job, and tells the launcher. Returns false if the job has a status. */
bool rt_report_end(struct rt_board *b, int rank, enum status status);

/* Prints a first line, without its newline, and the table on standard error, unless that was done or the
 * job has failed; then ends the job. Returns true if it was printed. If not, the job has failed when
 * this returns, unless the reporting rank died. rank: the rank that reports; -1: the launcher. */
bool rt_report(struct rt_board *b, int rank, const char *first, enum status status);

#endif
