/* balance: where the time of a rank's runs went, each moment of it to one of three:
 *
 *     wall = work + exposed + idle
 *
 *     work      some task ran
 *     exposed   none did, but some communication was under way
 *     idle      neither */
#ifndef HIRC_EXEC_BALANCE_H
#define HIRC_EXEC_BALANCE_H
#include "exec/trace.h"

/* Nanoseconds. A run lasts from its first task or communication to the end of its last one. */
struct balance {
	int64_t wall, work, exposed, idle;
};
struct balance balance_of(const struct trace_spans *s);

#endif
