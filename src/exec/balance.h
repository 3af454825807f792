/* balance: divides the time of a rank's runs into three parts:
 *
 *     wall = work + exposed + idle
 *
 *     work      some task ran
 *     exposed   no task ran, but some communication was in flight
 *     idle      neither */
#ifndef HIRC_EXEC_BALANCE_H
#define HIRC_EXEC_BALANCE_H
#include "exec/trace.h"

/* Nanoseconds. A run begins with its first task or communication, and ends with its last one. */
struct balance {
	int64_t wall, work, exposed, idle;
};
struct balance balance_of(const struct trace_spans *s);

#endif
