/* chrome: events of Chrome's trace format, which Perfetto opens.
 *
 *     [
 *     {…},                  each chrome_ function puts one event, with `,\n` before it
 *     {…}
 *     ]
 *
 * Times are nanoseconds. pid and tid select the line on which an event is drawn; events of one tid are
 * disjoint or nested. */
#ifndef HIRC_BASE_CHROME_H
#define HIRC_BASE_CHROME_H
#include "base/str.h"

struct chrome_span {
	const char *name, *category;
	const char *where; /* "f.hir:7", or "" */
	int64_t begin, end;
	int64_t iteration; /* -1: none */
	int pid;
	unsigned tid;
};

void chrome_put_span(struct buf *out, const struct chrome_span *s);
/* Puts one end of an arrow between spans. phase: "s" at the start, "f" at the end. Both ends have the same id
 * and pid. */
void chrome_put_arrow(struct buf *out, const char *phase, uint64_t id, int pid, unsigned tid, int64_t at);
/* Names a process or thread. what: "process_name" or "thread_name". */
void chrome_put_name(struct buf *out, const char *what, int pid, unsigned tid, const char *text);
void chrome_put_counter(struct buf *out, const char *name, const char *unit, int pid, int64_t at,
                        int64_t value);

#endif
